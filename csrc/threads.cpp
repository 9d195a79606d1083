// The thread pool: one parallel loop at a time, made of ranges that the threads take in chunks.
//
// Why not OpenMP: libgomp hangs in a forked child, and two pools that spin fight for the cores.
// - Each thread owns a part of the loop, so that consecutive kernels of a program find their rows
// in
//   the same core's cache, and takes it in chunks; a thread that is done takes chunks of others.
// - A worker spins for 100 us after its last job, then sleeps on a futex. Measured on the reference
//   machine (2 virtual cores): to wake a sleeper costs the caller 8 us and takes 25 to 50 us, one
//   that spins starts within 0.3 us. The caller never waits for a worker that has not started: it
//   takes that worker's chunks itself.
// - Workers stay off the caller's processor. Left alone, the scheduler of a busy two-core machine
//   queued the worker behind its caller for 27 ms at a time (measured), so that loops ran serially.
// - A loop that is nested in a worker, or starts while another thread's loop runs, runs serially.
// - After fork the child has no workers; it starts its own at its first parallel loop.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <ctime>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#include "common.h"

namespace tp {

namespace {

constexpr int kMaxThreads = 256;
constexpr int64_t kSpinNanoseconds = 100000;
constexpr int64_t kChunksEach = 4;  // chunks in one thread's part: what balancing may move

inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

// Spins until `*word` is no longer `value`, for a bounded time; returns what it saw last.
uint32_t spin_while(const std::atomic<uint32_t>& word, uint32_t value) {
  uint32_t seen = word.load(std::memory_order_acquire);
  if (seen != value) return seen;
  for (int64_t end = now() + kSpinNanoseconds; seen == value && now() < end;) {
    for (int i = 0; i < 32 && seen == value; ++i) {
      cpu_relax();
      seen = word.load(std::memory_order_acquire);
    }
  }
  return seen;
}

#ifdef __linux__
void sleep_while(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void wake_all(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}
#else
// Without futexes: a short sleep, which needs no wake.
void sleep_while(std::atomic<uint32_t>* word, uint32_t value) {
  if (word->load() == value) usleep(50);
}
void wake_all(std::atomic<uint32_t>*) {}
#endif

struct alignas(64) Part {
  std::atomic<int64_t> next;
  int64_t end;
};

struct Job {
  RangeFunction function;
  void* context;
  int64_t chunk;
  int parts;
  std::atomic<int64_t> failure;  // the least nonzero result, 0 if there is none
  Part part[kMaxThreads];
};

// One word says whether the job is open to workers and how many are inside it.
constexpr uint32_t kOpen = 1u << 31;

struct ThreadPool {
  pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;  // held by the thread whose loop runs
  std::atomic<uint32_t> epoch{0};                    // counts jobs; workers sleep on it
  std::atomic<uint32_t> sleepers{0};
  std::atomic<uint32_t> inside{0};   // kOpen | number of workers inside the job
  std::atomic<uint32_t> waiting{0};  // the caller sleeps on `inside`
  std::atomic<int> wanted{1};        // threads asked for, the caller included
  int started = 0;                   // workers that run
  int avoided_cpu = -1;              // where workers may not run
  pthread_t workers[kMaxThreads];
  Job job;
};

alignas(ThreadPool) char pool_memory[sizeof(ThreadPool)];
ThreadPool* pool = nullptr;
thread_local bool is_inside_loop = false;

void record_failure(Job* job, int64_t result) {
  int64_t seen = job->failure.load();
  while ((seen == 0 || result < seen) && !job->failure.compare_exchange_weak(seen, result)) {
  }
}

void run_parts(Job* job, int first) {
  for (int k = 0; k < job->parts; ++k) {
    int index = first + k < job->parts ? first + k : first + k - job->parts;
    Part& part = job->part[index];
    while (part.next.load(std::memory_order_relaxed) < part.end) {
      int64_t begin = part.next.fetch_add(job->chunk, std::memory_order_relaxed);
      if (begin >= part.end) break;
      int64_t end = begin + job->chunk < part.end ? begin + job->chunk : part.end;
      int64_t result = job->function(job->context, begin, end);
      if (TP_UNLIKELY(result != 0)) record_failure(job, result);
    }
  }
}

void* worker_main(void* index_pointer) {
  int index = int(reinterpret_cast<intptr_t>(index_pointer));
  ThreadPool* p = pool;
  is_inside_loop = true;
  uint32_t seen = 0;
  for (;;) {
    uint32_t epoch = spin_while(p->epoch, seen);
    while (epoch == seen) {
      p->sleepers.fetch_add(1);
      sleep_while(&p->epoch, seen);
      p->sleepers.fetch_sub(1);
      epoch = p->epoch.load(std::memory_order_acquire);
    }
    seen = epoch;
    uint32_t state = p->inside.load();
    while ((state & kOpen) && !p->inside.compare_exchange_weak(state, state + 1)) {
    }
    if (!(state & kOpen)) continue;
    if (index < p->job.parts) run_parts(&p->job, index);
    uint32_t left = p->inside.fetch_sub(1) - 1;
    if (left == 0 && p->waiting.load()) wake_all(&p->inside);
  }
  return nullptr;
}

// Starts workers up to the wanted number; false when not one runs. The pool is held.
bool start_workers(int wanted) {
  while (pool->started < wanted - 1) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    auto index = reinterpret_cast<void*>(intptr_t{pool->started + 1});
    int error = pthread_create(&thread, &attributes, worker_main, index);
    pthread_attr_destroy(&attributes);
    if (error) break;  // the loop makes do with fewer
    pool->workers[pool->started++] = thread;
    pool->avoided_cpu = -1;
  }
  return pool->started > 0;
}

// Lets workers run anywhere but where the caller is. The pool is held. Costs two system calls and
// one for each worker, when the caller has moved.
void spread_workers() {
#ifdef __linux__
  int cpu = sched_getcpu();
  if (cpu == pool->avoided_cpu || cpu < 0) return;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) < 2) return;
  // With many more processors than threads the scheduler finds free ones itself.
  pool->avoided_cpu = cpu;
  if (CPU_COUNT(&set) > 2 * (pool->started + 1)) return;
  CPU_CLR(cpu, &set);
  for (int i = 0; i < pool->started; ++i) {
    pthread_setaffinity_np(pool->workers[i], sizeof(set), &set);
  }
#endif
}

void make_pool(int wanted) {
  pool = new (pool_memory) ThreadPool;
  pool->wanted = wanted;
}

// The child has none of the workers, and any lock may have been held by another thread.
void after_fork_in_child() {
  make_pool(pool->wanted.load());
  is_inside_loop = false;
}

int available_cpus() {
#ifdef __linux__
  int cpus = 1;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cpus = CPU_COUNT(&set);
  // A container's share of processor time, rounded up.
  if (FILE* file = fopen("/sys/fs/cgroup/cpu.max", "r")) {
    long long quota, period;
    if (fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
      long long share = (quota + period - 1) / period;
      if (share < cpus) cpus = int(share);
    }
    fclose(file);
  }
  return cpus;
#else
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus > 0 ? int(cpus) : 1;
#endif
}

}  // namespace

int thread_count() { return pool->wanted.load(std::memory_order_relaxed); }

char* thread_scratch(size_t bytes) {
  thread_local char* memory = nullptr;
  thread_local size_t size = 0;
  if (size < bytes) {
    free(memory);
    size = (bytes + 4095) / 4096 * 4096;
    memory = static_cast<char*>(aligned_alloc(64, size));
    if (!memory) abort();
  }
  return memory;
}

int64_t parallel_for(int64_t count, int64_t grain, RangeFunction function, void* context) {
  if (count <= 0) return 0;
  if (grain < 1) grain = 1;
  int threads = thread_count();
  int64_t pieces = (count - 1) / grain + 1;
  if (pieces < threads) threads = int(pieces);
  if (threads <= 1 || is_inside_loop || pthread_mutex_trylock(&pool->busy) != 0) {
    return function(context, 0, count);
  }
  ThreadPool* p = pool;
  if (p->started < threads - 1 && !start_workers(threads)) {
    pthread_mutex_unlock(&p->busy);
    return function(context, 0, count);
  }
  spread_workers();
  Job* job = &p->job;
  job->function = function;
  job->context = context;
  job->parts = threads;
  job->failure.store(0, std::memory_order_relaxed);
  int64_t share = (pieces + threads - 1) / threads;  // in pieces of `grain` iterations
  job->chunk = (share + kChunksEach - 1) / kChunksEach * grain;
  for (int i = 0; i < threads; ++i) {
    int64_t begin = i * share * grain, end = begin + share * grain;
    job->part[i].next.store(begin < count ? begin : count, std::memory_order_relaxed);
    job->part[i].end = end < count ? end : count;
  }
  p->inside.store(kOpen);
  p->epoch.fetch_add(1);
  if (p->sleepers.load()) wake_all(&p->epoch);

  is_inside_loop = true;
  run_parts(job, 0);
  is_inside_loop = false;

  uint32_t state = p->inside.fetch_and(~kOpen) & ~kOpen;
  while (state != 0) {
    uint32_t later = spin_while(p->inside, state);
    if (later == state) {
      p->waiting.store(1);
      later = p->inside.load();
      if (later == state) sleep_while(&p->inside, state);
      p->waiting.store(0);
      later = p->inside.load(std::memory_order_acquire);
    }
    state = later;
  }
  int64_t failure = job->failure.load();
  pthread_mutex_unlock(&p->busy);
  return failure;
}

PyObject* set_num_threads(PyObject*, PyObject* count) {
  long n = PyLong_AsLong(count);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 1 || n > kMaxThreads) {
    PyErr_Format(PyExc_ValueError, "the number of threads must be in [1, %d], got %ld", kMaxThreads,
                 n);
    return nullptr;
  }
  pool->wanted.store(int(n));
  Py_RETURN_NONE;
}

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(thread_count()); }

int threads_init(PyObject*) {
  long wanted = available_cpus();
  const char* text = getenv("TP_NUM_THREADS");
  if (text && *text) {
    char* end = nullptr;
    wanted = strtol(text, &end, 10);
    if (*end || wanted < 1 || wanted > kMaxThreads) {
      PyErr_Format(PyExc_ValueError,
                   "TP_NUM_THREADS must be an integer in [1, %d], got '%s'; unset it to use all "
                   "processors",
                   kMaxThreads, text);
      return -1;
    }
  }
  if (wanted > kMaxThreads) wanted = kMaxThreads;
  if (!pool) {
    make_pool(int(wanted));
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  }
  return 0;
}

}  // namespace tp
