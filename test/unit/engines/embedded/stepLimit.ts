// @reaches rewardHost rewardPython
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../../../../src/files/atomicFile.ts';
import { eventually } from './engineProcess.ts';

/**
 * Reward file that lets a run take only a given number of steps, so that the run is certainly still running when it is
 * paused, stopped or killed, however fast or slow the machine is.
 */
export class StepLimit {
	/** Entry for the recipe's rewards. It does not change the run's total rewards. */
	readonly reward: { readonly file: string; readonly weight: 0 };
	/** Recipe entry without which a batch that waits for long would fail. */
	static readonly scoring = { batchSeconds: 3600 };
	readonly #allowed: string;
	readonly #taken: string;

	private constructor(folder: string, name: string) {
		this.reward = { file: join(folder, `${name}.reward.py`), weight: 0 };
		this.#allowed = join(folder, `${name}.allowed`);
		this.#taken = join(folder, `${name}.taken`);
	}

	/**
	 * Writes the reward file. Without a call of `allow`, there is no limit.
	 * @param name name of the files, if the folder has several limits
	 */
	static async write(folder: string, name = 'limit'): Promise<StepLimit> {
		const limit = new StepLimit(folder, name);
		await writeFile(
			limit.reward.file,
			`import time
def limit(completions, trainer_state=None, **kwargs):
    taken = trainer_state.global_step
    with open(${JSON.stringify(limit.#taken)}, "w") as file:
        file.write(str(taken))
    while taken >= float(open(${JSON.stringify(limit.#allowed)}).read()):
        time.sleep(0.02)
    return [0.0] * len(completions)
`,
		);
		await limit.allow(Number.POSITIVE_INFINITY);
		return limit;
	}

	/** Lets runs take this many steps in total. A batch of several steps starts if it may take its first one. */
	async allow(steps: number): Promise<void> {
		await writeFileAtomic(this.#allowed, String(steps));
	}

	/** Waits until a run has taken this many steps and waits with the next batch. */
	async reached(steps: number): Promise<void> {
		await eventually(
			async () => (await readFile(this.#taken, 'utf8').catch(() => '')) === String(steps),
			`the run waits after ${steps} steps`,
		);
	}
}
