import { Failure } from '../../base/failure.ts';
import { mix32 } from '../../base/random.ts';
import type {
	Generated,
	GenerateRequest,
	Generation,
	PlayedTurn,
	Policy,
	SearchTurn,
} from '../../core/search/policy.ts';
import { joined } from '../../core/search/readGeneration.ts';
import { turnStop } from '../../core/search/stepRule.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { OpenEpisodes } from './openEpisodes.ts';
import type { ReplayedEpisode } from './replayedEpisode.ts';
import type { TurnRequest, TurnWriter, WrittenTurn } from './turnWriter.ts';

export interface EpisodePolicyParts {
	readonly policy: Policy;
	readonly writer: TurnWriter;
	readonly episodes: OpenEpisodes;
	readonly problem: SearchProblem;
}

/**
 * Returns a policy that plays episodes. Its generations are turns: the given policy's text, followed by the results of
 * the calls in it. A request for a step plays one turn; any other request plays the episode to its end. A generation
 * that ends an episode includes its reward.
 */
export function episodePolicy(parts: EpisodePolicyParts): Policy {
	const { policy } = parts;
	return {
		name: policy.name,
		capabilities: { ...policy.capabilities, prefix: true, score: false, heads: [] },
		plays: true,
		async generate(requests) {
			const lanes = requests.map((request) => Array.from({ length: request.n }, (_, k) => new Lane(parts, request, k)));
			const all = lanes.flat();
			try {
				for (let active = all; active.length > 0; active = active.filter((lane) => lane.active)) {
					const written = await parts.writer.write(active.map((lane) => lane.request));
					await Promise.all(active.map((lane, i) => lane.take(written[i] ?? nothing())));
				}
				return lanes.map(generationsOf);
			} finally {
				await Promise.all(all.map((lane) => lane.end()));
			}
		},
	};
}

const nothing = () => new Failure('invalid', 'The policy returned no reply for a request.');

function generationsOf(lanes: readonly Lane[]): Generated {
	const made = lanes.flatMap(({ generation }) => (generation === null ? [] : [generation]));
	const failed = lanes.find(({ failure }) => failure !== null)?.failure ?? null;
	return made.length === 0 && failed !== null ? failed : made;
}

/** One generation of a request. */
class Lane {
	failure: Failure | null = null;
	active = true;
	readonly #parts: EpisodePolicyParts;
	readonly #asked: GenerateRequest;
	readonly #seed: number;
	readonly #episode: ReplayedEpisode;
	readonly #turns: SearchTurn[];
	readonly #made: Generation[] = [];

	constructor(parts: EpisodePolicyParts, asked: GenerateRequest, index: number) {
		this.#parts = parts;
		this.#asked = asked;
		this.#seed = mix32(asked.seed ^ mix32(index + 1));
		this.#turns = [...(asked.turns ?? [])];
		const played = this.#turns.filter(({ calls }) => calls.length > 0);
		this.#episode = parts.episodes.replay(parts.problem, played, (text) => parts.writer.plain(text));
	}

	/** The next turn for the policy to write. */
	get request(): TurnRequest {
		const { prompt } = this.#parts.problem;
		return {
			request: this.#asked,
			prompt,
			turns: this.#turns,
			maxTokens: Math.max(1, this.#asked.maxTokens - this.#used),
			seed: this.#made.length === 0 ? this.#seed : mix32(this.#seed + this.#made.length),
		};
	}

	/** The turns as one generation; null if the policy failed, which leaves the episode unfinished. */
	get generation(): Generation | null {
		const [first, ...others] = this.#made;
		if (first === undefined || this.failure !== null) return null;
		return others.length === 0 ? first : { ...others.reduce(joined, first), turns: this.#made };
	}

	/** Makes a turn's calls. Rejects with SearchStop if the environment is no longer available. */
	async take(written: WrittenTurn | Failure): Promise<void> {
		if (written instanceof Failure) {
			this.failure = written;
			this.active = false;
			return;
		}
		const { generation, calls } = written;
		const { finish, text } = generation;
		if (finish === 'length' || finish === 'refusal' || calls.length === 0) {
			await this.#finish(generation, { written: text.length, calls: [] });
			return;
		}
		const before = this.#turns.at(-1)?.calls.length === 0 ? (this.#turns.pop()?.text ?? '') : '';
		const acted = await this.#episode.act(before + text, calls);
		this.#turns.push({ text: before + text, calls: acted.calls });
		const turn = { written: text.length, calls: acted.calls };
		const whole = { ...generation, text: text + this.#parts.writer.results(acted.calls) };
		if (acted.fault !== null) this.#add({ ...whole, finish: 'end' }, { ...turn, reward: null, fault: acted.fault });
		else if (acted.done || this.#turns.length >= this.#parts.episodes.maxTurns) await this.#finish(whole, turn);
		else if (this.#used + generation.tokens >= this.#asked.maxTokens)
			await this.#finish({ ...whole, finish: 'length' }, turn);
		else this.#add({ ...whole, finish: 'stop', stopText: '' }, turn, !this.#asked.stop.includes(turnStop));
	}

	async end(): Promise<void> {
		await this.#episode.end();
	}

	get #used(): number {
		return this.#made.reduce((sum, { tokens }) => sum + tokens, 0);
	}

	/** Adds the last turn of the episode, with its reward. */
	async #finish(generation: Generation, turn: PlayedTurn): Promise<void> {
		const { value, fault } = await this.#episode.reward();
		if (fault !== null) this.#add({ ...generation, finish: 'end' }, { ...turn, reward: null, fault });
		else {
			const finish = generation.finish === 'stop' ? 'end' : generation.finish;
			this.#add({ ...generation, finish }, { ...turn, reward: value });
		}
	}

	#add(generation: Generation, turn: PlayedTurn, continues = false): void {
		this.#made.push({ ...generation, turn });
		this.active = continues;
	}
}
