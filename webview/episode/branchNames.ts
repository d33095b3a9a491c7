import type { EpisodeBranch } from '../../src/protocol/episodeMessages.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';

/** Returns an episode's short name, unique within the view. */
export function branchName({ id, origin }: EpisodeBranch): string {
	switch (origin.kind) {
		case 'stepped':
			return `Episode ${id}`;
		case 'recorded':
			return `${id}: ${plainLabel(origin.label, 40)}`;
		case 'branch':
			return `Branch ${id}`;
		case 'replay':
			return `Replay ${id}`;
	}
}

/** Describes the origin of an episode, such as "Follows Episode 1 up to turn 2". */
export function originText({ origin, row }: EpisodeBranch, find: (id: number) => EpisodeBranch | undefined): string {
	const nameOf = (id: number): string => {
		const other = find(id);
		return other === undefined ? 'a closed episode' : branchName(other);
	};
	const onRow = row === null ? 'Custom row' : `Row ${row + 1}`;
	switch (origin.kind) {
		case 'stepped':
			return onRow;
		case 'recorded':
			return `Recorded, ${onRow.toLowerCase()}`;
		case 'branch':
			return `${onRow}, follows ${nameOf(origin.of)} up to turn ${origin.turn}`;
		case 'replay':
			return `${onRow}, repeats the calls from ${nameOf(origin.of)}`;
	}
}
