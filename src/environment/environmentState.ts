import type { ManagedEnvironment } from '../protocol/torchEnvironment.ts';
import type { ManagedFolder } from './managedFolder.ts';
import { knownExtras, pinOf, readRequirements } from './setup/requirements.ts';

/** What is known of the managed environment without starting it. */
export type EnvironmentState =
	| { readonly kind: 'none' }
	| {
			readonly kind: 'ready';
			readonly python: string;
			readonly record: ManagedEnvironment;
			/** Pins of this version that differ from what was installed: `trl 1.12.0 -> 1.13.0`; empty: it is current. */
			readonly outdated: readonly string[];
	  };

/** @param requirements another folder of requirement files; null: the trainer's own */
export async function environmentState(
	folder: ManagedFolder,
	requirements: string | null = null,
): Promise<EnvironmentState> {
	const current = await folder.current();
	if (current === null) return { kind: 'none' };
	const { pins } = await readRequirements(knownExtras(current.record.extras), requirements);
	return { kind: 'ready', ...current, outdated: changedPins(current.record.pins, pins) };
}

/** How the pins of now differ from those of then. */
export function changedPins(then: readonly string[], now: readonly string[]): string[] {
	const before = new Map(then.map(pinOf).map(({ name, version }) => [name, version]));
	return now.map(pinOf).flatMap(({ name, version }) => {
		if (before.get(name) === version && before.has(name)) return [];
		const from = before.has(name) ? (before.get(name) ?? 'any version') : 'missing';
		return [`${name} ${from} -> ${version ?? 'any version'}`];
	});
}
