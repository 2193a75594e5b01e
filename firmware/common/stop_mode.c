#include "stop_mode.h"

#include "clock.h"
#include "clock_source.h"
#include "cycle_counter.h"
#include "reset.h"
#include "stop_family.h"
#include "ticker.h"
#include "watchdog.h"
#ifdef RTC_CRL_CNF
#include "rtc_counter.h"
#else
#include "rtc_calendar.h"
#endif

#ifndef RTC_CLOCK /* the backup domain of most families: the register that selects the RTC's clock */
#define RTC_CLOCK RCC->BDCR
#define RTC_CLOCK_FIELD (RCC_BDCR_RTCSEL | RCC_BDCR_RTCEN)
#define RTC_CLOCK_LSI (RCC_BDCR_RTCSEL_1 | RCC_BDCR_RTCEN)
#define RTC_CLOCK_RESET RCC_BDCR_BDRST
#endif
#ifndef LSI_CONTROL
#define LSI_CONTROL RCC->CSR
#define LSI_ON RCC_CSR_LSION
#define LSI_READY RCC_CSR_LSIRDY
#endif

#ifndef STOP_TIMER_LINES /* of EXTI; that of the U5 has none for the timer */
#define STOP_TIMER_LINES (1u << STOP_TIMER_LINE)
#endif

#define US_PER_S 1000000u
#define MS_PER_S 1000u
#define FRACTIONS 16u /* of a cycle */

enum {
  TICK_MASK = RTC_TICK_MASK,
  MOST_TICKS = 24000,   /* in one piece: less than ticks take around, and than the watchdog waits */
  LEAST_TICKS = 64,     /* that are worth it */
  MARGIN_TICKS = 8,     /* for starting the timer, and rounding */
  MEASURED_TICKS = 128  /* awake, by which LSI is measured */
};

typedef struct {
  uint32_t ticks;
  uint32_t cycles;
} mark_t;

static mark_t awake_since;
static mark_t begin; /* of the stop */
static uint32_t tick_cycles; /* core cycles of a tick, times FRACTIONS; 0: not known yet */

static uint32_t pin_lines(void) {
  uint32_t lines = 0;
  for (uint32_t i = 0; i < board_stop.pin_count; i++) lines |= 1u << board_stop.pins[i].line;
  return lines;
}

/* The RTC, whose registers survive resets */

/* At the beginning of a tick. */
static mark_t mark_now(void) {
  uint32_t ticks = rtc_ticks();
  uint32_t next = ticks;
  while (next == ticks) next = rtc_ticks();
  return (mark_t){next, cycle_counter_low()};
}

static void start_lsi(void) {
  if ((RTC_CLOCK & RTC_CLOCK_FIELD) != RTC_CLOCK_LSI) {
    RTC_CLOCK |= RTC_CLOCK_RESET; /* RTCSEL is written once; H5 and U5 have LSI in the same register */
    RTC_CLOCK &= ~(RTC_CLOCK_RESET | RTC_CLOCK_FIELD);
  }
  LSI_CONTROL |= LSI_ON;
  if (!clock_wait(&LSI_CONTROL, LSI_READY, LSI_READY)) reset_now();
  RTC_CLOCK |= RTC_CLOCK_LSI;
}

void stop_mode_begin(void) {
  stop_family_begin();
  start_lsi();
  if (!rtc_begin()) reset_now();
  for (uint32_t i = 0; i < board_stop.pin_count; i++) {
    stop_family_connect(board_stop.pins[i].port, board_stop.pins[i].line);
  }
  awake_since = mark_now();
}

/* Ticks have gone around where the board was awake for too long. */
static void measure_tick(const mark_t *now) {
  uint32_t cycles = now->cycles - awake_since.cycles;
  uint32_t ticks = (now->ticks - awake_since.ticks) & TICK_MASK;
  bool is_known = cycles < clock_core_hz / 4u;
  if (is_known && ticks < MEASURED_TICKS) return;
  if (is_known) tick_cycles = cycles * FRACTIONS / ticks;
  awake_since = *now;
}

/* Stopping */

/* The application may have enabled some of these interrupts for lines of its own. Returns the lines that had an edge.
 */
static uint32_t stop_core(uint32_t lines) {
  uint32_t others[STOP_INTERRUPT_WORDS];
  for (uint32_t i = 0; i < STOP_INTERRUPT_WORDS; i++) {
    others[i] = board_stop.interrupts[i] & ~NVIC->ISER[i];
    NVIC->ISER[i] = board_stop.interrupts[i];
  }
  (void)stop_family_take_edges(lines);
  STOP_EXTI_MASK |= lines;
  stop_family_select();
  SCB->SCR |= SCB_SCR_SLEEPDEEP_Msk;
  __DSB();
  __WFI();
  SCB->SCR &= ~SCB_SCR_SLEEPDEEP_Msk;
  STOP_EXTI_MASK &= ~lines;
  rtc_stop_timer();
  uint32_t edges = stop_family_take_edges(lines);
  __DSB();
  for (uint32_t i = 0; i < STOP_INTERRUPT_WORDS; i++) {
    NVIC->ICER[i] = others[i];
    NVIC->ICPR[i] = others[i];
  }
  return edges;
}

static stop_mode_end_t stop_for(uint32_t ticks) {
  uint32_t pins = pin_lines();
  uint32_t start = rtc_ticks();
  rtc_start_timer(start, ticks);
  uint32_t edges = stop_core(pins | STOP_TIMER_LINES);
  watchdog_refresh();
  if (edges & 1u << board_stop.pins[0].line) return STOP_MODE_BY_HOST;
  bool is_over = ((rtc_ticks() - start) & TICK_MASK) >= (ticks & ~1u);
  return is_over && !(edges & pins) ? STOP_MODE_BY_TIMER : STOP_MODE_BY_LINE;
}

/* Ticks of a stop from which the board is back before `cycles` are over. */
static uint32_t ticks_within(uint64_t cycles) {
  uint32_t wake_ticks = board_stop.wake_us * LSI_HZ / US_PER_S + MARGIN_TICKS;
  uint32_t most = UINT32_MAX / 2u; /* the cycle counter must not go around */
  uint32_t own = cycles < most ? (uint32_t)cycles : most;
  uint32_t ticks = own / tick_cycles * FRACTIONS + own % tick_cycles * FRACTIONS / tick_cycles;
  return ticks > wake_ticks ? ticks - wake_ticks : 0;
}

bool stop_mode_pays(uint64_t cycles) {
  if (tick_cycles && ticks_within(cycles) < LEAST_TICKS) return false;
  begin = mark_now();
  measure_tick(&begin);
  return tick_cycles != 0;
}

stop_mode_end_t stop_mode_enter(uint64_t cycles) {
  uint32_t wanted = ticks_within(cycles);
  uint32_t passed = 0;
  uint32_t last = begin.ticks;
  stop_mode_end_t end = STOP_MODE_BY_TIMER;
  while (end == STOP_MODE_BY_TIMER && passed + LEAST_TICKS <= wanted) {
    uint32_t left = wanted - passed;
    end = stop_for(left < MOST_TICKS ? left : (uint32_t)MOST_TICKS);
    uint32_t now = rtc_ticks();
    passed += (now - last) & TICK_MASK;
    last = now;
  }
  if (stop_family_is_slow() && !clock_raise(&board_clock)) reset_now();
  mark_t back = mark_now();
  passed += (back.ticks - last) & TICK_MASK;
  uint32_t cycles_passed = (uint32_t)((uint64_t)passed * tick_cycles / FRACTIONS);
  awake_since = (mark_t){back.ticks, begin.cycles + cycles_passed};
  ticker_ms += cycles_passed / (clock_core_hz / MS_PER_S);
  cycle_counter_jump(awake_since.cycles + cycle_counter_low() - back.cycles);
  (void)cycle_counter_now(); /* it may have gone around */
  return end;
}
