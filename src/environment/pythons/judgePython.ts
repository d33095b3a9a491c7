import type { PythonProbe } from '../../protocol/torchEnvironment.ts';
import { atLeast } from '../machine/machineFacts.ts';

/** Python versions that every pinned package has builds for. */
export const minPython = '3.10';
export const maxPython = '3.14';

/** From the one that most packages are tested with to the one that the fewest are. */
const preferred = ['3.12', '3.11', '3.13', '3.10', '3.14'];

/** Why an environment for PyTorch cannot be made with a Python; null: it can. One sentence without its end. */
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

/** For ordering usable Pythons, the best first. */
export function rankPython(probe: PythonProbe): number {
	const version = `3.${minor(probe.python)}`;
	const place = preferred.indexOf(version);
	// One that can make environments by itself comes before one that needs uv for it.
	return (place < 0 ? preferred.length : place) + (probe.venv && probe.ensurepip !== null ? 0 : 10);
}

const minor = (version: string): number => Number(/^3\.(\d+)/.exec(version)?.[1] ?? 0);
