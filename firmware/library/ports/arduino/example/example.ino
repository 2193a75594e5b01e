// The board's part of a network between setup() and loop(): the library lies in the folder `libraries`, or `lib` of PlatformIO.
#include <tinysplit.hpp>

#include "tinysplit_arduino.h"

static HardwareSerial *const serials[] = {&Serial1}; // the links, in the order that tinysplit.h names
static TinysplitArduino<TINYSPLIT_LINKS> arduino(tinysplit_calls, serials);

static class Network : public tinysplit::Application {
#ifdef TINYSPLIT_INPUTS
  bool input(tinysplit_input_t *to) override {
    for (int i = 0; i < TINYSPLIT_INPUT_VALUES; i++) to[i] = static_cast<tinysplit_input_t>(i); // your sensor
    return true;
  }
#endif
#ifdef TINYSPLIT_OUTPUTS
  void output(const tinysplit_output_t *from) override { Serial.println(tinysplit_output_1_arg_max(from)); }
#endif
} network;

void setup() {
  Serial.begin(115200);
  Serial1.begin(921600); // the baud rate that tinysplit.h names
  network.begin(arduino.port(), static_cast<uint32_t>(analogRead(A0)) << 20 ^ micros());
}

void loop() {
  arduino.move();
  network.poll();
}
