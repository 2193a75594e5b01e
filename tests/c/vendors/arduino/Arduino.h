/* The true signatures of what the port uses of Arduino's core, for compiling. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

enum { A0 = 14 };

class Print {
 public:
  virtual ~Print() = default;
  virtual size_t write(uint8_t byte) = 0;
  virtual size_t write(const uint8_t *buffer, size_t size);
  virtual int availableForWrite();
  size_t println(unsigned long number, int base = 10);
  size_t println(unsigned int number, int base = 10);
};

class Stream : public Print {
 public:
  virtual int available() = 0;
  virtual int read() = 0;
};

class HardwareSerial : public Stream {
 public:
  void begin(unsigned long baud);
  int available() override;
  int read() override;
  int availableForWrite() override;
  size_t write(uint8_t byte) override;
  size_t write(const uint8_t *buffer, size_t size) override;
};

extern HardwareSerial Serial, Serial1;

uint32_t millis();
uint32_t micros();
int analogRead(uint32_t pin);

#endif
