import { formatCounted, formatDuration } from '../../src/base/format.ts';
import type { RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { element } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Describes the episode: "3 turns, 4 calls (1 failed) · turn limit · 12 ms in the environment". */
export function episodeTerms(episode: NonNullable<RolloutDetail['episode']> | null): HTMLElement[] {
	if (episode === null) return [];
	const { turns, calls, failures, stop, error, seconds } = episode;
	const parts = [
		`${formatCounted(turns, 'turn')}, ${formatCounted(calls, 'tool call')}${failures > 0 ? ` (${failures} failed)` : ''}`,
	];
	if (stop !== null) parts.push(`ended: ${plainLabel(stop, 60)}`);
	if (seconds !== null) parts.push(`${formatDuration(seconds)} in the environment`);
	return [
		element('dt', null, 'Episode'),
		element(
			'dd',
			{ class: 'card-episode' },
			parts.join(' · '),
			error !== null && element('span', { class: 'badge warning' }, plainLabel(error, 300)),
		),
	];
}
