import { basename, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import type { RewardSample } from '../../core/reward/rewardSample.ts';
import { controlExtensions } from '../../protocol/control.ts';
import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { ControlClient } from '../../rpc/controlClient.ts';
import { ServedCheckpoint } from '../../runs/servedCheckpoint.ts';
import type { BuiltIn } from '../builtInReward.ts';
import { rewardHostFolder } from '../rewardHostFolder.ts';

/** Number of rows per request. Fixed, so batch composition does not depend on timing. */
const batchRows = 256;

/** Returns the path to the engine program: next to the bundles, or in the source tree. */
function engineProgram(): string {
	const folder = rewardHostFolder();
	return basename(folder) === 'rewards'
		? join(folder, '..', 'engines', 'embedded', 'main.ts')
		: join(folder, 'engine.js');
}

/**
 * The `reward-model` reward: a reward model's score for a completion, given the prompt as the policy sees it. The
 * checkpoint is served by an engine that exits with this process.
 */
export class RewardModel implements BuiltIn {
	readonly #entry: RewardEntry<'reward-model'>;
	readonly #template: string;
	#served: ServedCheckpoint;

	private constructor(entry: RewardEntry<'reward-model'>, template: string, served: ServedCheckpoint) {
		this.#entry = entry;
		this.#template = template;
		this.#served = served;
	}

	/**
	 * Opens the checkpoint. Fails with `unsupported` if it contains no reward model, or with the same errors as
	 * `ServedCheckpoint.open`.
	 * @param template prompt template, with {prompt} as the placeholder for the problem
	 */
	static async open(entry: RewardEntry<'reward-model'>, template = '{prompt}'): Promise<RewardModel> {
		const served = await serve(entry.path);
		if (served.client.engine.capabilities.includes(controlExtensions.head('reward'))) {
			return new RewardModel(entry, template, served);
		}
		served.dispose();
		throw new Failure(
			'unsupported',
			`Reward "${entry.name}": checkpoint ${entry.path} does not contain a reward model.`,
			'Use a checkpoint from a run that has a "reward-model" stage.',
		);
	}

	async score(sample: RewardSample, signal: AbortSignal): Promise<number> {
		const [value] = await this.scoreAll([sample], signal);
		if (typeof value === 'number') return value;
		throw value;
	}

	async scoreAll(samples: readonly RewardSample[], signal: AbortSignal): Promise<(number | Error)[]> {
		const values: (number | Error)[] = [];
		for (let start = 0; start < samples.length; start += batchRows) {
			const batch = samples.slice(start, start + batchRows);
			const client = await this.#client(signal);
			const scored = this.#ask(client, batch, signal).catch(async (error: unknown) => {
				// The engine may belong to another process that has since exited.
				if (signal.aborted || !client.closed) throw error;
				return this.#ask(await this.#client(signal), batch, signal);
			});
			values.push(...(await scored));
		}
		return values;
	}

	async #client(signal: AbortSignal): Promise<ControlClient> {
		if (this.#served.client.closed) {
			this.#served.dispose();
			this.#served = await serve(this.#entry.path, signal);
		}
		return this.#served.client;
	}

	/** Scores the samples. If the engine rejects one of them, for example because it is too long, scores the rest. */
	async #ask(
		client: ControlClient,
		samples: readonly RewardSample[],
		signal: AbortSignal,
	): Promise<(number | Error)[]> {
		try {
			const { values } = await client.request(
				'policy/value',
				{
					prompts: samples.map(({ prompt }) => this.#template.replaceAll('{prompt}', () => prompt)),
					completions: samples.map(({ completion }) => completion),
					head: 'reward',
					tokens: false,
				},
				signal,
			);
			if (values.length !== samples.length) {
				throw new Failure('internal', `The reward model returned ${values.length} scores for ${samples.length} rows.`);
			}
			return this.#entry.activation === 'none' ? values : values.map((score) => 1 / (1 + Math.exp(-score)));
		} catch (error) {
			const failure = Failure.from(error);
			// `invalid` refers to a specific sample. Any other failure affects all of them.
			if (failure.reason !== 'invalid') throw failure;
			if (samples.length === 1) {
				return [new Failure('invalid', `The reward model cannot score this row: ${failure.message}`, failure.action)];
			}
			const half = Math.ceil(samples.length / 2);
			const parts = [samples.slice(0, half), samples.slice(half)];
			const scored: (number | Error)[] = [];
			for (const part of parts) scored.push(...(await this.#ask(client, part, signal)));
			return scored;
		}
	}

	dispose(): void {
		this.#served.dispose();
	}
}

function serve(checkpoint: string, signal?: AbortSignal): Promise<ServedCheckpoint> {
	return ServedCheckpoint.open(checkpoint, {
		engine: engineProgram(),
		name: 'reasoning-lab reward',
		...(signal === undefined ? {} : { signal }),
	});
}
