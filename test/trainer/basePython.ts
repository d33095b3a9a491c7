import { findPythons } from '../../src/environment/pythons/findPythons.ts';

/** A Python that virtual environments are made with; null: this machine has none. */
export async function basePython(): Promise<string | null> {
	const found = await findPythons();
	const usable = found.find(({ unusable, probe }) => unusable === null && !probe.virtual && probe.ensurepip !== null);
	return usable?.path ?? null;
}
