/* The true signatures of what the port uses of Zephyr's kernel, for compiling. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int64_t ticks;
} k_timeout_t;

struct k_sem {
  unsigned int count;
  unsigned int limit;
};

#define K_MSEC(ms) ((k_timeout_t){.ticks = (ms)})
#define SYS_FOREVER_US (-1)

int k_sem_init(struct k_sem *sem, unsigned int initial_count, unsigned int limit);
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);
uint32_t k_uptime_get_32(void);
unsigned int irq_lock(void);
void irq_unlock(unsigned int key);
void printk(const char *fmt, ...);

#endif
