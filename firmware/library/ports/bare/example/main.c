/* A program without any vendor's library: clocks, pins, baud rates and interrupts are set up by what is called first. */
#include "tinysplit.h"
#include "tinysplit_bare.h"

void begin_clocks_and_pins(void); /* yours: TX and RX of the link, its baud rate, SysTick once a millisecond */
void SysTick_Handler(void);
void USART1_IRQHandler(void);

static tinysplit_bare_t bare;

void SysTick_Handler(void) { tinysplit_bare_tick(&bare); }
void USART1_IRQHandler(void) { tinysplit_bare_interrupt(&bare, 0); }

#ifdef TINYSPLIT_INPUTS
static bool read_sensor(void *context, tinysplit_input_t *input) {
  (void)context;
  for (int i = 0; i < TINYSPLIT_INPUT_VALUES; i++) input[i] = (tinysplit_input_t)i; /* your sensor */
  return true;
}
#endif

#ifdef TINYSPLIT_OUTPUTS
static volatile uint32_t newest_class;

static void use_result(void *context, const tinysplit_output_t *output) {
  (void)context;
  newest_class = tinysplit_output_1_arg_max(output);
}
#endif

static const tinysplit_application_t application = {
#ifdef TINYSPLIT_INPUTS
    .input = read_sensor,
#endif
#ifdef TINYSPLIT_OUTPUTS
    .output = use_result,
#endif
    .failure = NULL};

int main(void) {
  static USART_TypeDef *const uarts[TINYSPLIT_LINKS] = {USART1};
  static tinysplit_bare_link_t links[TINYSPLIT_LINKS];
  static uint32_t seed __attribute__((section(".noinit"))); /* RAM that nobody clears; a random number is better */
  begin_clocks_and_pins();
  tinysplit_bare_begin(&bare, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_begin(&bare.port, &application, seed = seed * 1664525u + 1u);
  tinysplit_bare_receive(&bare);
  for (;;) {
    if (!tinysplit_poll()) bare.port.sleep(bare.port.context);
  }
}
