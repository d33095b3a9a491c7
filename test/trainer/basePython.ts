import { findPythons } from '../../src/environment/pythons/findPythons.ts';

/** Returns a Python that can create virtual environments, or null if this machine has none. */
export async function basePython(): Promise<string | null> {
	const found = await findPythons();
	const usable = found.find(({ unusable, probe }) => unusable === null && !probe.virtual && probe.ensurepip !== null);
	return usable?.path ?? null;
}
