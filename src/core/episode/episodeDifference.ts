import type { Episode } from '../../protocol/episode.ts';

/** The first difference between two episodes with the same row and calls. */
export interface EpisodeDifference {
	readonly what: 'observation' | 'answer' | 'reward' | 'state' | 'error';
	/** Description of the two values, such as `result of guess in turn 2 ("higher", "lower")`. */
	readonly text: string;
}

/** Compares two episodes with the same row and calls. Returns null if they look the same to a model. */
export function episodeDifference(a: Episode, b: Episode): EpisodeDifference | null {
	if (a.observation !== b.observation) {
		return { what: 'observation', text: `observation from reset (${both(a.observation, b.observation)})` };
	}
	for (const [i, turn] of a.turns.entries()) {
		const other = b.turns[i];
		for (const [j, { name, content }] of turn.results.entries()) {
			const answer = other?.results[j]?.content;
			if (answer === content) continue;
			const number = a.turns.length > 1 ? ` in turn ${i + 1}` : '';
			return { what: 'answer', text: `result of ${name}${number} (${both(content, answer ?? null)})` };
		}
		const [one, two] = [turn.reward, other?.reward];
		if (other !== undefined && one !== two) {
			return { what: 'reward', text: `reward of turn ${i + 1} (${one ?? 'none'}, ${two ?? 'none'})` };
		}
	}
	if (a.error?.kind !== b.error?.kind) {
		return { what: 'error', text: `outcome (${a.error?.message ?? 'no error'}; ${b.error?.message ?? 'no error'})` };
	}
	if (a.reward !== b.reward) return { what: 'reward', text: `reward (${a.reward ?? 'none'}, ${b.reward ?? 'none'})` };
	return null;
}

/**
 * Compares the states after reset. Attributes with values other than integers and strings are ignored, because times
 * and measurements can differ without affecting the episode.
 */
export function stateDifference(a: Episode, b: Episode): EpisodeDifference | null {
	if (a.state === undefined || b.state === undefined) return null;
	for (const [name, value] of Object.entries(a.state)) {
		const [one, other] = [JSON.stringify(value), JSON.stringify(b.state[name])];
		if (one === other || hasFraction(value) || hasFraction(b.state[name])) continue;
		return { what: 'state', text: `attribute ${name} after reset (${both(one, other ?? null)})` };
	}
	return null;
}

function hasFraction(value: unknown): boolean {
	if (typeof value === 'number') return !Number.isInteger(value);
	if (typeof value === 'object' && value !== null) return Object.values(value).some(hasFraction);
	return false;
}

function both(a: string | null, b: string | null): string {
	return `${quoted(a)}, ${quoted(b)}`;
}

function quoted(text: string | null): string {
	if (text === null) return 'nothing';
	const line = text.replace(/\s+/g, ' ').trim();
	return `"${line.length > 60 ? `${line.slice(0, 59)}…` : line}"`;
}
