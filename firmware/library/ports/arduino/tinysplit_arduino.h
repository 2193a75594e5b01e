/* A port of a library of tinysplit to Arduino: links are HardwareSerial, of STM32duino or another core. Everything is
 * called from loop(). A core that keeps few bytes of what arrives while a layer runs loses the rest, which is sent again:
 * build with -D SERIAL_RX_BUFFER_SIZE=4096, or as many as the largest tensor has.
 */
#ifndef TINYSPLIT_ARDUINO_H
#define TINYSPLIT_ARDUINO_H

#include <Arduino.h>

#include "tinysplit_port.h"

template <uint8_t COUNT>
class TinysplitArduino {
 public:
  /* `serials` are the links, in their order, and have begun. */
  TinysplitArduino(const tinysplit_calls_t &library, HardwareSerial *const (&serials)[COUNT]) : library_(library) {
    for (uint8_t i = 0; i < COUNT; i++) links_[i].serial = serials[i];
    port_.context = this;
    port_.send = [](void *own, uint8_t link, const uint8_t *bytes, uint32_t count) {
      static_cast<TinysplitArduino *>(own)->send(link, bytes, count);
    };
    port_.milliseconds = [](void *) -> uint32_t { return millis(); };
    port_.sleep = [](void *own) { static_cast<TinysplitArduino *>(own)->move(); };
  }

  const tinysplit_port_t &port() const { return port_; }

  /* Hands over what has arrived, and sends what there is room for: to be called before each call of the library. */
  void move() {
    for (uint8_t i = 0; i < COUNT; i++) {
      receive(i);
      write(i);
    }
  }

 private:
  struct Link {
    HardwareSerial *serial = nullptr;
    const uint8_t *bytes = nullptr;
    uint32_t left = 0;
  };

  void send(uint8_t link, const uint8_t *bytes, uint32_t count) {
    links_[link].bytes = bytes;
    links_[link].left = count;
  }

  void receive(uint8_t link) {
    uint8_t bytes[64];
    uint32_t count = 0;
    while (count < sizeof bytes && links_[link].serial->available() > 0) {
      bytes[count++] = static_cast<uint8_t>(links_[link].serial->read());
    }
    if (count) library_.received(link, bytes, count);
  }

  void write(uint8_t link) {
    Link &own = links_[link];
    if (own.left == 0) return;
    int room = own.serial->availableForWrite();
    uint32_t count = room <= 0 ? 0 : static_cast<uint32_t>(room) < own.left ? static_cast<uint32_t>(room) : own.left;
    size_t written = count ? own.serial->write(own.bytes, count) : 0;
    own.bytes += written;
    own.left -= static_cast<uint32_t>(written);
    if (own.left == 0) library_.sent(link);
  }

  const tinysplit_calls_t &library_;
  tinysplit_port_t port_ = {};
  Link links_[COUNT];
};

#endif
