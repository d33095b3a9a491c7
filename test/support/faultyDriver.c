/*
 * A Vulkan driver for tests that passes everything on to another one, but fails on request:
 *
 *   FAULTY_DRIVER_LIBRARY  path of the other driver
 *   FAULTY_DRIVER_LOST     path of a file; once it exists, the device is lost (VK_ERROR_DEVICE_LOST), as after a reset
 *   FAULTY_DRIVER_BYTES    device memory in bytes; allocations beyond it fail (VK_ERROR_OUT_OF_DEVICE_MEMORY)
 *   FAULTY_DRIVER_BINDINGS limits of storage buffers per shader stage that the device reports
 *   FAULTY_DRIVER_PEAK     path of a file that contains the maximum of the memory in use, in bytes
 *
 * It implements the interface between Vulkan's loader and its drivers (LoaderDriverInterface.md of
 * KhronosGroup/Vulkan-Loader). Types of vulkan.h are replaced by ones of the same size, so that no header is needed.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int32_t Result;
typedef void (*Function)(void);
typedef Function (*Lookup)(void *object, const char *name);

enum { lost = -4, out_of_memory = -2 };

struct AllocateInfo {
	int32_t type;
	const void *next;
	uint64_t bytes;
	uint32_t index;
};

static void *library(void) {
	static void *opened;
	if (opened == NULL) opened = dlopen(getenv("FAULTY_DRIVER_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	if (opened == NULL) abort();
	return opened;
}

static int is_lost(void) {
	const char *file = getenv("FAULTY_DRIVER_LOST");
	return file != NULL && access(file, F_OK) == 0;
}

/* Sizes of the allocations, by handle. */
enum { places = 1 << 16 };
static struct {
	uint64_t handle, bytes;
} allocations[places];
static uint64_t used, peak;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static Function real_allocate, real_free, real_submit, real_submit2, real_wait, real_status, real_device_lookup,
	real_properties, real_properties2;

static void write_peak(void) {
	const char *path = getenv("FAULTY_DRIVER_PEAK");
	FILE *file = path == NULL || used <= peak ? NULL : fopen(path, "w");
	if (used > peak) peak = used;
	if (file == NULL) return;
	fprintf(file, "%llu", (unsigned long long)peak);
	fclose(file);
}

static Result allocate(void *device, const struct AllocateInfo *info, const void *allocator, uint64_t *memory) {
	const char *limit = getenv("FAULTY_DRIVER_BYTES");
	if (is_lost()) return lost;
	pthread_mutex_lock(&lock);
	Result result = out_of_memory;
	int place = 0;
	while (place < places && allocations[place].handle != 0) place++;
	if (place < places && (limit == NULL || used + info->bytes <= strtoull(limit, NULL, 10))) {
		result = ((Result(*)(void *, const void *, const void *, uint64_t *))real_allocate)(device, info, allocator, memory);
		if (result == 0) {
			allocations[place].handle = *memory;
			allocations[place].bytes = info->bytes;
			used += info->bytes;
			write_peak();
		}
	}
	pthread_mutex_unlock(&lock);
	return result;
}

static void free_memory(void *device, uint64_t memory, const void *allocator) {
	pthread_mutex_lock(&lock);
	for (int place = 0; memory != 0 && place < places; place++) {
		if (allocations[place].handle != memory) continue;
		used -= allocations[place].bytes;
		allocations[place].handle = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	((void (*)(void *, uint64_t, const void *))real_free)(device, memory, allocator);
}

static Result submit(void *queue, uint32_t count, const void *submits, uint64_t fence) {
	if (is_lost()) return lost;
	return ((Result(*)(void *, uint32_t, const void *, uint64_t))real_submit)(queue, count, submits, fence);
}

static Result submit2(void *queue, uint32_t count, const void *submits, uint64_t fence) {
	if (is_lost()) return lost;
	return ((Result(*)(void *, uint32_t, const void *, uint64_t))real_submit2)(queue, count, submits, fence);
}

static Result wait(void *device, uint32_t count, const uint64_t *fences, uint32_t all, uint64_t timeout) {
	if (is_lost()) return lost;
	return ((Result(*)(void *, uint32_t, const uint64_t *, uint32_t, uint64_t))real_wait)(device, count, fences, all, timeout);
}

static Result status(void *device, uint64_t fence) {
	if (is_lost()) return lost;
	return ((Result(*)(void *, uint64_t))real_status)(device, fence);
}

/* Offset of limits.maxPerStageDescriptorStorageBuffers in VkPhysicalDeviceProperties. */
enum { storage_buffers = 296 + 76 };

static void limit_bindings(char *properties) {
	const char *limit = getenv("FAULTY_DRIVER_BINDINGS");
	if (limit == NULL) return;
	uint32_t count = (uint32_t)strtoul(limit, NULL, 10);
	memcpy(properties + storage_buffers, &count, sizeof count);
}

static void properties(void *device, char *result) {
	((void (*)(void *, char *))real_properties)(device, result);
	limit_bindings(result);
}

/* VkPhysicalDeviceProperties2 begins with a type and a pointer. */
static void properties2(void *device, char *result) {
	((void (*)(void *, char *))real_properties2)(device, result);
	limit_bindings(result + 16);
}

static Function device_lookup(void *device, const char *name);

static const struct {
	const char *name;
	Function own, *real;
} replaced[] = {
	{"vkAllocateMemory", (Function)allocate, &real_allocate},
	{"vkFreeMemory", (Function)free_memory, &real_free},
	{"vkQueueSubmit", (Function)submit, &real_submit},
	{"vkQueueSubmit2", (Function)submit2, &real_submit2},
	{"vkQueueSubmit2KHR", (Function)submit2, &real_submit2},
	{"vkWaitForFences", (Function)wait, &real_wait},
	{"vkGetFenceStatus", (Function)status, &real_status},
	{"vkGetPhysicalDeviceProperties", (Function)properties, &real_properties},
	{"vkGetPhysicalDeviceProperties2", (Function)properties2, &real_properties2},
	{"vkGetPhysicalDeviceProperties2KHR", (Function)properties2, &real_properties2},
	{"vkGetDeviceProcAddr", (Function)device_lookup, &real_device_lookup},
};

/* Returns this driver's function of the given name in place of the other driver's. */
static Function replace(const char *name, Function real) {
	for (size_t i = 0; real != NULL && i < sizeof replaced / sizeof *replaced; i++) {
		if (strcmp(name, replaced[i].name) != 0) continue;
		*replaced[i].real = real;
		return replaced[i].own;
	}
	return real;
}

static Function device_lookup(void *device, const char *name) {
	return replace(name, ((Lookup)real_device_lookup)(device, name));
}

static Function look_up(const char *export, void *instance, const char *name) {
	Lookup lookup = (Lookup)dlsym(library(), export);
	return lookup == NULL ? NULL : replace(name, lookup(instance, name));
}

Function vk_icdGetInstanceProcAddr(void *instance, const char *name) {
	return look_up("vk_icdGetInstanceProcAddr", instance, name);
}

Function vk_icdGetPhysicalDeviceProcAddr(void *instance, const char *name) {
	return look_up("vk_icdGetPhysicalDeviceProcAddr", instance, name);
}

Result vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
	Result (*negotiate)(uint32_t *) = (Result(*)(uint32_t *))dlsym(library(), "vk_icdNegotiateLoaderICDInterfaceVersion");
	return negotiate == NULL ? -9 : negotiate(version);
}
