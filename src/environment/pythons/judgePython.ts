import type { PythonProbe } from '../../protocol/torchEnvironment.ts';
import { atLeast } from '../machine/machineFacts.ts';

/** Range of Python versions for which every pinned package has builds. */
export const minPython = '3.10';
export const maxPython = '3.14';

/** Python versions from most to least widely tested by packages. */
const preferred = ['3.12', '3.11', '3.13', '3.10', '3.14'];

/**
 * Returns why an interpreter cannot host a PyTorch environment, as a sentence without a period, or null if it can.
 */
export function whyUnusable(probe: PythonProbe): string | null {
	if (!atLeast(probe.python, minPython)) return `Python ${probe.python} is older than ${minPython}`;
	if (minor(probe.python) > minor(maxPython)) return `Python ${probe.python} is newer than ${maxPython}`;
	if (probe.bits !== 64) return 'it is a 32-bit build, which PyTorch does not support';
	if (probe.freeThreaded) return 'it is a free-threaded build, which most packages do not support';
	if (probe.platform === 'darwin' && probe.machine !== 'arm64') {
		return 'it is an Intel build, which PyTorch does not support on macOS';
	}
	if (probe.platform === 'linux') {
		if (probe.libc === null) return 'it is not a glibc build, which PyTorch requires on Linux';
		if (!atLeast(probe.libc, '2.28')) return `the system has ${probe.libc}, but PyTorch requires glibc 2.28`;
	}
	return null;
}

/** Returns a sort key for usable interpreters; lower is better. */
export function rankPython(probe: PythonProbe): number {
	const version = `3.${minor(probe.python)}`;
	const place = preferred.indexOf(version);
	// Prefer an interpreter that can create environments without uv.
	return (place < 0 ? preferred.length : place) + (probe.venv && probe.ensurepip !== null ? 0 : 10);
}

const minor = (version: string): number => Number(/^3\.(\d+)/.exec(version)?.[1] ?? 0);
