/*
 * A libnvidia-ml.so.1 of two devices for machines without any: what nvidia-ml-py calls, with its types. Each look at a
 * device finds the next of a few values, and the last one from then on. The second device tells neither its power nor its
 * utilisation, as a slice of a GPU does. How often it was asked is in FAKE_NVML_LOOKS, a file with a byte a look.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct device { int number; int looks; } *nvmlDevice_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6 };
enum { LOOKS = 3 };

static struct device devices[2] = {{0, 0}, {1, 0}};
static const char *const uuids[2] = {"GPU-aaaaaaaa-0000-0000-0000-000000000000", "MIG-bbbbbbbb-0000-0000-0000-000000000000"};
static const unsigned long long gib = 1ull << 30;
static const unsigned long long used[LOOKS] = {2, 7, 5};
static const unsigned int busy[LOOKS] = {20, 40, 90};
static const unsigned int heat[LOOKS] = {40, 60, 50};
static const unsigned int milliwatts[LOOKS] = {100000, 200000, 600500};
static int open_count = 0;

static int look(nvmlDevice_t device) { return device->looks < LOOKS ? device->looks : LOOKS - 1; }

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { (void)flags; open_count++; return SUCCESS; }
nvmlReturn_t nvmlInit_v2(void) { open_count++; return SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { open_count--; return SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t result) { (void)result; return "an error"; }

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
	for (int i = 0; i < 2; i++) {
		if (strcmp(uuid, uuids[i]) == 0) { *device = &devices[i]; return SUCCESS; }
	}
	return NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory) {
	if (open_count < 1) return INVALID_ARGUMENT;
	memory->total = (device->number == 0 ? 16 : 8) * gib;
	memory->used = used[look(device)] * gib;
	memory->free = memory->total - memory->used;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates) {
	if (device->number == 1) return NOT_SUPPORTED;
	rates->gpu = busy[look(device)];
	rates->memory = 0;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int sensor, unsigned int *degrees) {
	if (sensor != 0) return INVALID_ARGUMENT;
	*degrees = heat[look(device)];
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *power) {
	if (device->number == 1) return NOT_SUPPORTED;
	*power = 700000;
	return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power) {
	const int at = look(device);
	const char *path = getenv("FAKE_NVML_LOOKS");
	/* A look asks it once. */
	device->looks++;
	if (path != NULL) {
		FILE *file = fopen(path, "ab");
		if (file != NULL) { fputc('0' + device->number, file); fclose(file); }
	}
	if (device->number == 1) return NOT_SUPPORTED;
	*power = milliwatts[at];
	return SUCCESS;
}
