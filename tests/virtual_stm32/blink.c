/* A firmware without tinysplit: NUCLEO-G071RB at reset clocks, LED LD4 (PA5) and a line on USART2 in each half period.
 * An input byte is echoed as a capital letter. Registers are those of RM0444. */
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RCC_IOPENR REGISTER(0x40021034)
#define RCC_APBENR1 REGISTER(0x4002103C)
#define GPIOA_MODER REGISTER(0x50000000)
#define GPIOA_ODR REGISTER(0x50000014)
#define GPIOA_BSRR REGISTER(0x50000018)
#define GPIOA_AFRL REGISTER(0x50000020)
#define USART2_CR1 REGISTER(0x40004400)
#define USART2_BRR REGISTER(0x4000440C)
#define USART2_ISR REGISTER(0x4000441C)
#define USART2_RDR REGISTER(0x40004424)
#define USART2_TDR REGISTER(0x40004428)
#define SYSTICK_CTRL REGISTER(0xE000E010)
#define SYSTICK_LOAD REGISTER(0xE000E014)

enum { HSI_HZ = 16000000, BAUD = 115200, LED = 5, HALF_PERIOD_S_INVERSE = 10 };
enum { RXNE = 1 << 5, TXE = 1 << 7, COUNTED = 1 << 16 };

static void put(char character) {
  while (!(USART2_ISR & TXE)) {
  }
  USART2_TDR = (uint8_t)character;
}

static void print(const char *text) {
  while (*text) put(*text++);
}

void reset(void) {
  RCC_IOPENR = 1;                        /* GPIOA */
  RCC_APBENR1 = 1u << 17;                /* USART2 */
  GPIOA_MODER = 0xEBFFFFFFu & ~(3u << (2 * LED) | 3u << 4 | 3u << 6);
  GPIOA_MODER |= 1u << (2 * LED) | 2u << 4 | 2u << 6;
  GPIOA_AFRL = 1u << 8 | 1u << 12;       /* PA2, PA3: AF1 */
  USART2_BRR = (HSI_HZ + BAUD / 2) / BAUD;
  USART2_CR1 = 1u << 0 | 1u << 2 | 1u << 3; /* UE, RE, TE */
  SYSTICK_LOAD = HSI_HZ / HALF_PERIOD_S_INVERSE - 1;
  SYSTICK_CTRL = 5;                      /* on, from the core clock, without interrupt */
  print("ready\r\n");
  for (;;) {
    if (USART2_ISR & RXNE) put((char)(USART2_RDR & ~0x20u));
    if (SYSTICK_CTRL & COUNTED) {
      int is_on = GPIOA_ODR >> LED & 1;
      GPIOA_BSRR = is_on ? 1u << (LED + 16) : 1u << LED;
      print(is_on ? "off\r\n" : "on\r\n");
    }
  }
}

extern char stack_top[];
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, (const void *)reset};
