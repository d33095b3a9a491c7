import type { ManagedEnvironment } from '../protocol/torchEnvironment.ts';
import type { ManagedFolder } from './managedFolder.ts';
import { knownExtras, pinOf, readRequirements } from './setup/requirements.ts';

/** State of the managed environment, determined without running its Python. */
export type EnvironmentState =
	| { readonly kind: 'none' }
	| {
			readonly kind: 'ready';
			readonly python: string;
			readonly record: ManagedEnvironment;
			/** Pins that differ from the installed versions: `trl 1.12.0 -> 1.13.0`. Empty if up to date. */
			readonly outdated: readonly string[];
	  };

/** @param requirements folder with custom requirements files; null to use the trainer's own */
export async function environmentState(
	folder: ManagedFolder,
	requirements: string | null = null,
): Promise<EnvironmentState> {
	const current = await folder.current();
	if (current === null) return { kind: 'none' };
	const { pins } = await readRequirements(knownExtras(current.record.extras), requirements);
	return { kind: 'ready', ...current, outdated: changedPins(current.record.pins, pins) };
}

/** Returns the differences between old and new pins. */
export function changedPins(then: readonly string[], now: readonly string[]): string[] {
	const before = new Map(then.map(pinOf).map(({ name, version }) => [name, version]));
	return now.map(pinOf).flatMap(({ name, version }) => {
		if (before.get(name) === version && before.has(name)) return [];
		const from = before.has(name) ? (before.get(name) ?? 'any version') : 'missing';
		return [`${name} ${from} -> ${version ?? 'any version'}`];
	});
}
