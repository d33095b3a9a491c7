import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { softwareManifest } from './softwareGpu.ts';

const source = fileURLToPath(new URL('./faultyDriver.c', import.meta.url));

/** Returns the path of the Vulkan driver that tests use, from its manifest. */
function driverPath(manifest: string): string {
	const path = String(JSON.parse(readFileSync(manifest, 'utf8')).ICD.library_path);
	// A name without a folder is looked up by the system.
	return path.includes('/') && !isAbsolute(path) ? join(dirname(manifest), path) : path;
}

/**
 * Builds faultyDriver.c, which passes everything on to the tests' driver until a file exists or its memory is full.
 * Returns the environment of a process that uses it, or null if there is no C compiler or no known driver.
 */
export async function buildFaultyDriver(folder: string): Promise<Readonly<Record<string, string>> | null> {
	const manifest = process.env.VK_ICD_FILENAMES ?? '/usr/share/vulkan/icd.d/nvidia_icd.json';
	const library = join(folder, 'libfaultyDriver.so');
	// Tests recognize a software GPU by this name.
	const own = join(folder, softwareManifest);
	try {
		const other = driverPath(manifest);
		await promisify(execFile)('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread']);
		await writeFile(
			own,
			JSON.stringify({ file_format_version: '1.0.0', ICD: { library_path: library, api_version: '1.1.0' } }),
		);
		return { VK_ICD_FILENAMES: own, FAULTY_DRIVER_LIBRARY: other };
	} catch (error) {
		console.error(`Cannot build the faulty driver: ${error instanceof Error ? error.message : error}`);
		return null;
	}
}
