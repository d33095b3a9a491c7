import { knownName, trainersOf } from './canonicalName.ts';
import type { OwnName } from './metricInfo.ts';
import { NamePatterns } from './namePatterns.ts';
import type { Trainer, TrainerName } from './trainerName.ts';

const memory = new WeakMap<Trainer, NamePatterns<readonly TrainerName[]>>();

/** Returns a trainer's metric names by canonical name. */
function namesOf(trainer: Trainer): NamePatterns<readonly TrainerName[]> {
	let patterns = memory.get(trainer);
	if (patterns === undefined) {
		const byCanonical = Map.groupBy(
			trainer.names.filter((entry) => !entry.akin),
			(entry) => entry.canonical,
		);
		patterns = new NamePatterns([...byCanonical.values()], (entries) => entries[0]?.canonical ?? '');
		memory.set(trainer, patterns);
	}
	return patterns;
}

/**
 * Returns a metric's name in the trainer with the given format and explains how the trainer's definition differs.
 * Returns null if the trainer does not have the metric.
 */
export function ownName(name: string, format: string | null): OwnName | null {
	if (format === null) return null;
	const known = knownName(format, name);
	if (known?.entry.akin) {
		const { trainer, entry, canonical } = known;
		return { trainer: trainer.title, names: [name], differs: entry.differs ? [entry.differs] : [], akinTo: canonical };
	}
	for (const trainer of trainersOf(format)) {
		const match = namesOf(trainer).match(name);
		if (!match) continue;
		return {
			trainer: trainer.title,
			names: [
				...new Set(
					match.entry.map((entry) => `${match.fill(entry.name)}${entry.versions ? ` (${entry.versions})` : ''}`),
				),
			],
			differs: [...new Set(match.entry.flatMap((entry) => entry.differs ?? []))],
			akinTo: null,
		};
	}
	return null;
}
