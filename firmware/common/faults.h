/* Faults and interrupts that nobody expects: report the program counter to the host and stay dead. */
#ifndef FAULTS_H
#define FAULTS_H

void faults_handler(void);

#endif
