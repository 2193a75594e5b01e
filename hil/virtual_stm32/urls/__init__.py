"""URL handlers for pyserial: appended to serial.protocol_handler_packages."""
