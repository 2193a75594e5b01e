/* The board that tells: a line of text at USART3 (TX is PC10), 115200 baud, and the LED at PA5 of a NUCLEO-L452RE. */
#include "application.h"
#include "device.h"

enum {
  LABELS = TINYSPLIT_OUTPUT_VALUES,
  WORDS = LABELS - 2, /* the last two labels are silence and anything else */
  MEAN_OF = 3,        /* outputs */
  HOLD = 10,          /* outputs after a word in which nothing is told */
  UART_HZ = 80000000,
  BAUD = 115200,
  TXE = 1 << 7,
};

static const char *const words[WORDS] = {"down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes"};

static tinysplit_output_t recent[MEAN_OF][LABELS];
static uint32_t count, hold;
static char line[16];
static const char *rest = line;

void application_begin(void) {
  RCC->AHB2ENR |= RCC_AHB2ENR_GPIOAEN | RCC_AHB2ENR_GPIOCEN;
  RCC->APB1ENR1 |= RCC_APB1ENR1_USART3EN;
  GPIOA->MODER = (GPIOA->MODER & ~(3u << 10)) | 1u << 10;  /* PA5: output */
  GPIOC->AFR[1] = (GPIOC->AFR[1] & ~(15u << 8)) | 7u << 8; /* PC10: USART3_TX */
  GPIOC->MODER = (GPIOC->MODER & ~(3u << 20)) | 2u << 20;
  USART3->BRR = (UART_HZ + BAUD / 2) / BAUD;
  USART3->CR1 = USART_CR1_TE | USART_CR1_UE;
}

/* The probability of a label, times MEAN_OF / SCALE. */
static int32_t sum_of(uint32_t label) {
  int32_t sum = -MEAN_OF * TINYSPLIT_OUTPUT_ZERO_POINT;
  for (uint32_t i = 0; i < MEAN_OF; i++) sum += recent[i][label];
  return sum;
}

static void tell(const char *word, int32_t percent) {
  char *end = line;
  while (*word) *end++ = *word++;
  *end++ = ' ';
  if (percent >= 100) *end++ = '1';
  if (percent >= 10) *end++ = (char)('0' + percent / 10 % 10);
  *end++ = (char)('0' + percent % 10);
  *end++ = '%';
  *end++ = '\r';
  *end++ = '\n';
  *end = 0;
  rest = line;
  GPIOA->BSRR = 1u << 5;
}

void application_output(const tinysplit_output_t *output) {
  const int32_t all = (int32_t)(MEAN_OF / TINYSPLIT_OUTPUT_SCALE + 0.5f);
  uint32_t best = 0;
  for (uint32_t i = 0; i < LABELS; i++) recent[count % MEAN_OF][i] = output[i];
  count++;
  if (hold && --hold == 0) GPIOA->BSRR = 1u << 21;
  if (hold || count < MEAN_OF) return;
  for (uint32_t i = 1; i < LABELS; i++) {
    if (sum_of(i) > sum_of(best)) best = i;
  }
  if (best >= WORDS || 4 * sum_of(best) < 3 * all) return; /* a probability of 0.75 */
  tell(words[best], 100 * sum_of(best) / all);
  hold = HOLD;
}

/* Results of another second do not belong to those before. */
void application_failure(uint8_t reason, uint8_t board) {
  (void)reason;
  (void)board;
  count = 0;
}

/* A byte at a time, so that nobody waits for the UART. */
void application_idle(void) {
  if (*rest && USART3->ISR & TXE) USART3->TDR = (uint8_t)*rest++;
}
