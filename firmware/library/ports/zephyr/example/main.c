/* An application of Zephyr: prj.conf has CONFIG_SERIAL, CONFIG_UART_ASYNC_API and CONFIG_ENTROPY_GENERATOR or a test one,
 * the devicetree an alias `link0` for the UART of the link, with its DMA channels, and ZEPHYR_EXTRA_MODULES the library.
 */
#include <zephyr/random/random.h>

#include "tinysplit.h"
#include "tinysplit_zephyr.h"

static tinysplit_zephyr_t port;
static tinysplit_zephyr_link_t links[TINYSPLIT_LINKS];

#ifdef TINYSPLIT_INPUTS
static bool read_sensor(void *context, tinysplit_input_t *input) {
  (void)context;
  for (int i = 0; i < TINYSPLIT_INPUT_VALUES; i++) input[i] = (tinysplit_input_t)i; /* your sensor */
  return true;
}
#endif

#ifdef TINYSPLIT_OUTPUTS
static void use_result(void *context, const tinysplit_output_t *output) {
  (void)context;
  printk("class %u\n", tinysplit_output_1_arg_max(output));
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
  static const struct device *const uarts[TINYSPLIT_LINKS] = {DEVICE_DT_GET(DT_ALIAS(link0))};
  tinysplit_zephyr_begin(&port, &tinysplit_calls, links, uarts, TINYSPLIT_LINKS);
  tinysplit_begin(&port.port, &application, sys_rand32_get());
  if (tinysplit_zephyr_receive(&port) != 0) return -1;
  for (;;) {
    if (!tinysplit_poll()) port.port.sleep(port.port.context);
  }
}
