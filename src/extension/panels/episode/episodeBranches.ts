import { Failure } from '../../../base/failure.ts';
import { type EpisodeBranch, maxBranches } from '../../../protocol/episodeMessages.ts';
import type { RecordedEpisode } from './shownEpisode.ts';

/** Episodes of a view, by number. Numbers are not reused. */
export class EpisodeBranches {
	readonly #branches = new Map<number, EpisodeBranch>();
	#next = 1;

	constructor(started: readonly EpisodeBranch[]) {
		for (const branch of started) {
			this.#branches.set(branch.id, branch);
			this.#next = Math.max(this.#next, branch.id + 1);
		}
	}

	get all(): readonly EpisodeBranch[] {
		return [...this.#branches.values()];
	}

	/** @throws Failure `missing` */
	get(id: number): EpisodeBranch {
		const branch = this.#branches.get(id);
		if (branch === undefined) throw new Failure('missing', 'This episode has been closed.', 'Select another one.');
		return branch;
	}

	find(id: number): EpisodeBranch | undefined {
		return this.#branches.get(id);
	}

	set(branch: EpisodeBranch): void {
		this.#branches.set(branch.id, branch);
	}

	remove(id: number): void {
		this.#branches.delete(id);
	}

	/** Adds an empty episode. Closes the oldest one if there are too many. */
	add(branch: Omit<EpisodeBranch, 'id' | 'reset' | 'turns' | 'reward' | 'version'>, version: number): EpisodeBranch {
		return this.#put({ ...branch, version, reset: null, turns: [], reward: null });
	}

	record({ label, ...episode }: RecordedEpisode, seed: number): EpisodeBranch {
		return this.#put({ ...episode, origin: { kind: 'recorded', label: label.slice(0, 400) }, seed, version: null });
	}

	#put(content: Omit<EpisodeBranch, 'id'>): EpisodeBranch {
		const [oldest] = this.#branches.keys();
		if (this.#branches.size >= maxBranches && oldest !== undefined) this.#branches.delete(oldest);
		const branch = { ...content, id: this.#next++ };
		this.#branches.set(branch.id, branch);
		return branch;
	}
}
