import type { PythonProbe } from '../../protocol/torchEnvironment.ts';
import { atLeast } from '../machine/machineFacts.ts';

/** Range of Python versions for which every pinned package has builds. */
export const minPython = '3.10';
export const maxPython = '3.14';

/** Python versions from most to least widely tested by packages. */
const preferred = ['3.12', '3.11', '3.13', '3.10', '3.14'];

/** Returns why a Python cannot host a PyTorch environment, as a sentence without a period, or null if it can. */
export function whyUnusable(probe: PythonProbe): string | null {
	if (!atLeast(probe.python, minPython)) return `Python ${probe.python} is older than ${minPython}`;
	if (minor(probe.python) > minor(maxPython)) return `Python ${probe.python} is newer than ${maxPython}`;
	if (probe.bits !== 64) return 'it is a 32-bit Python, for which PyTorch has no builds';
	if (probe.freeThreaded) return 'it is a free-threaded Python, for which most packages have no builds';
	if (probe.platform === 'darwin' && probe.machine !== 'arm64') {
		return 'it is a Python for Intel processors, for which PyTorch has no builds on macOS';
	}
	if (probe.platform === 'linux') {
		if (probe.libc === null) return 'it was not built with glibc, and PyTorch has no other builds on Linux';
		if (!atLeast(probe.libc, '2.28')) return `the system has ${probe.libc}, and PyTorch needs glibc 2.28`;
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
