"use strict";
/* Mistakes in the layout of each frame of this page: what scrolls sideways, is cut, overlaps or is too small to read. */
const LEAST_PX = 10, SLACK = 1.5, NARROW_PX = 700; /* from there on, pictures do not scroll */

const overlap = (a, b) => Math.min(
  Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top),
);
const isOutside = (inner, outer) =>
  inner.left < outer.left - SLACK || inner.right > outer.right + SLACK
  || inner.top < outer.top - SLACK || inner.bottom > outer.bottom + SLACK;

function mistakesOf(frame) {
  const root = frame.contentDocument.documentElement, width = frame.clientWidth, found = [];
  root.querySelectorAll("details").forEach((each) => { each.open = true; });
  if (root.scrollWidth > width) found.push(`the page scrolls sideways: ${root.scrollWidth} px`);
  for (const element of root.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect(), lane = element.closest(".wide");
    if (!box.width || (lane && lane !== element)) continue;
    if (box.right > width + SLACK) found.push(`${element.tagName} ${element.className} ends at ${Math.round(box.right)} px`);
  }
  for (const lane of root.querySelectorAll(".wide")) {
    const overflow = frame.contentWindow.getComputedStyle(lane).overflowX;
    if (overflow !== "auto" && overflow !== "scroll") found.push("a lane does not scroll");
    const isPicture = width >= NARROW_PX && lane.querySelector(":scope > svg");
    if (isPicture && lane.scrollWidth > lane.clientWidth) found.push(`a picture scrolls: ${lane.getAttribute("aria-label")}`);
    if (lane.tabIndex < 0 || !lane.getAttribute("aria-label")) found.push("a lane has no name or cannot be reached by keys");
  }
  for (const label of root.querySelectorAll(".track b")) {
    const box = label.getBoundingClientRect(), bar = label.parentElement.getBoundingClientRect();
    if (box.top < bar.bottom && box.width > bar.width + SLACK) found.push(`wider than its bar: ${label.textContent}`);
  }
  for (const svg of root.querySelectorAll("svg")) svgMistakes(frame, svg, found);
  for (const element of root.querySelectorAll("body *:not(svg, svg *, script, style)")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const size = parseFloat(frame.contentWindow.getComputedStyle(element).fontSize);
    if (hasText && size < LEAST_PX) found.push(`${size} px: ${element.textContent.trim().slice(0, 40)}`);
  }
  return found;
}

function svgMistakes(frame, svg, found) {
  const around = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((text) => {
    const matrix = text.getScreenCTM();
    return { text: text.textContent, box: text.getBoundingClientRect(), scale: Math.min(matrix.a, matrix.d), element: text };
  });
  texts.forEach(({ text, box, scale, element }, number) => {
    const size = scale * parseFloat(frame.contentWindow.getComputedStyle(element).fontSize);
    if (size < LEAST_PX) found.push(`${size.toFixed(1)} px: ${text}`);
    if (isOutside(box, around)) found.push(`cut by its picture: ${text}`);
    const shape = element.classList.contains("on") && element.parentElement.querySelector(":scope > rect");
    if (shape && element.parentElement !== svg && box.width > shape.getBoundingClientRect().width) {
      found.push(`wider than its box: ${text}`);
    }
    for (const other of texts.slice(number + 1)) {
      if (overlap(box, other.box) > 3) found.push(`${text} overlaps ${other.text}`);
    }
  });
}

window.addEventListener("load", () => {
  const mistakes = [...document.querySelectorAll("iframe")].map((frame) => [...new Set(mistakesOf(frame))]);
  document.getElementById("found").textContent = JSON.stringify(mistakes);
});
