import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openedDevice } from '../../../../../src/engines/embedded/run/vulkanLog.ts';

/** Output of loader 1.4.364 on a machine with two drivers. */
const current = `[Vulkan Loader] DRIVER:         Found ICD manifest file /usr/lib/chromium/vk_swiftshader_icd.json, version 1.0.0
[Vulkan Loader] DEBUG | DRIVER: Searching for ICD drivers named ./libvk_swiftshader.so
[Vulkan Loader] INFO | DRIVER:  linux_read_sorted_physical_devices:
[Vulkan Loader] INFO | DRIVER:       Original order:
[Vulkan Loader] INFO | DRIVER:             [0] llvmpipe (LLVM 15.0.6, 256 bits)
[Vulkan Loader] INFO | DRIVER:             [1] SwiftShader Device (Subzero)
[Vulkan Loader] DEBUG | DRIVER: Copying old device 0 into new device 0
[Vulkan Loader] DRIVER:         vkCreateDevice layer callstack setup to:
[Vulkan Loader] DRIVER:            <Device>
[Vulkan Loader] DRIVER:                Using "SwiftShader Device (Subzero)" with driver: "/usr/lib/chromium/libvk_swiftshader.so"
`;

const using = (prefix: string, name: string) =>
	`${prefix}          Using "${name}" with driver: "libGLX_nvidia.so.0"\n`;

test('the log of the Vulkan loader names the device that was opened, among several', () => {
	assert.equal(openedDevice(current), 'SwiftShader Device (Subzero)');
});

test('the name is found in the formats of all loader versions, even if the path was truncated', () => {
	// Loader 1.3.209, 1.3.239 and, with layers, 1.4.
	for (const prefix of ['DRIVER | LAYER:', 'LAYER | DRIVER:', 'DRIVER:', '[Vulkan Loader] DRIVER | LAYER:']) {
		assert.equal(openedDevice(using(prefix, 'NVIDIA GeForce GTX 1650')), 'NVIDIA GeForce GTX 1650', prefix);
	}
	assert.equal(openedDevice('DRIVER:   Using "A "quoted" GPU" with driver: "/opt/long'), 'A "quoted" GPU');
});

test('the name is unknown if no device was opened, or several', () => {
	assert.equal(openedDevice(''), null);
	assert.equal(openedDevice(current.split('\n').slice(0, -2).join('\n')), null);
	assert.equal(openedDevice(using('DRIVER:', 'A') + using('DRIVER:', 'B')), null);
	assert.equal(openedDevice(using('DRIVER:', 'A') + using('DRIVER:', 'A')), 'A');
	assert.equal(openedDevice(using('Warning:', 'A')), null);
});
