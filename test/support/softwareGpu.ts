import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from '../scripts/workbench/chromium.ts';

/**
 * A software GPU for the tests: SwiftShader, the Vulkan driver that comes with Chromium. It executes the real shaders
 * of the WebGPU provider, so numbers, placements and transfers match a GPU's, but times do not.
 */
export type SoftwareGpu =
	/** Environment of a process that uses the GPU; the loader reads it when the process starts. */
	{ readonly environment: Readonly<Record<string, string>> } | { readonly missing: string };

/** File name of the driver's manifest. */
export const softwareManifest = 'vk_swiftshader_icd.json';
const library = 'libvk_swiftshader.so';
const loader = 'libvulkan.so.1';

/** Folders of Debian's package and of Playwright's download, whichever browser is used. */
function folders(browser: Browser): string[] {
	const used = 'missing' in browser ? undefined : browser.launch.executablePath;
	return [used, chromium.executablePath()]
		.filter((path) => path !== undefined && existsSync(path))
		.map((path) => dirname(realpathSync(path as string)))
		.concat('/usr/lib/chromium');
}

/** Variable that makes tests and benches use this machine's GPU and driver instead of a software GPU. */
export const hardware = process.env.TEST_GPU_HARDWARE === '1';

export function findSoftwareGpu(browser: Browser): SoftwareGpu {
	if (hardware) return { environment: {} };
	if (process.platform !== 'linux' || process.arch !== 'x64') {
		return { missing: `SwiftShader is used on Linux x64, not on ${process.platform} ${process.arch}` };
	}
	const folder = folders(browser).find(
		(path) => existsSync(join(path, softwareManifest)) && existsSync(join(path, library)),
	);
	if (folder === undefined) {
		return {
			missing: `${library} was not found next to Chromium (install it with \`sudo apt-get install -y chromium\`)`,
		};
	}
	const libraries = [existsSync(join(folder, loader)) ? folder : '', process.env.LD_LIBRARY_PATH ?? ''];
	const path = libraries.filter((part) => part !== '').join(delimiter);
	return {
		environment: {
			VK_ICD_FILENAMES: join(folder, softwareManifest),
			...(path === '' ? {} : { LD_LIBRARY_PATH: path }),
		},
	};
}

/**
 * Variable with the reason why there is no software GPU. The runner sets either this or the environment of a process
 * that uses the GPU.
 */
export const missingVariable = 'TEST_GPU_MISSING';

/** Why a test on the software GPU cannot run in this process, or false: the `skip` option of a test. */
export const skip: string | false =
	process.env[missingVariable] ??
	(hardware || (process.env.VK_ICD_FILENAMES ?? '').endsWith(softwareManifest)
		? false
		: 'run it with `npm test -- gpu`');
