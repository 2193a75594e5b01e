/* Handler of faults and unused interrupts: reports the program counter to the host, then loops for ever. */
#ifndef FAULTS_H
#define FAULTS_H

void faults_handler(void);

#endif
