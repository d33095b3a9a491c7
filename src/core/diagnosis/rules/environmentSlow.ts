import type { Row } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

class EnvironmentSlowWatch implements Watch {
	readonly #environment = new Recent(limit('toolBatches'));
	readonly #sampling = new Recent(limit('toolBatches'));

	stage(): void {
		this.#environment.clear();
		this.#sampling.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const generate = row.get('time/generate');
		const waited = row.get('time/environment');
		const seconds = waited ?? row.get('environment/seconds');
		if (generate === null || seconds === null) return undefined;
		this.#environment.push(seconds);
		// If environment time is not a separate phase, it is part of the sampling time.
		this.#sampling.push(waited === null ? Math.max(0, generate - seconds) : generate);
		if (!this.#environment.full) return [];
		const [environment, sampling] = [this.#environment.median(), this.#sampling.median()];
		if (environment < limit('environmentShare') * sampling) return [];
		return [
			{
				level: 'info',
				content: () => ({
					message: `The environment takes ${digits(environment)} s per batch (median over ${limit('toolBatches')} batches), and sampling takes ${digits(sampling)} s.`,
					action:
						'Make resets and tools faster: keep connections and data in memory between episodes, avoid waiting, and lower "turnSeconds" if some calls hang.',
					metrics: ['environment/seconds', 'time/environment', 'time/generate'],
					evidence: [],
					cause: 'an environment slower than the model',
					recipe: null,
				}),
			},
		];
	}
}

export const environmentSlow: Rule = {
	name: 'environment-slow',
	title: 'Slow environment',
	fires:
		'median `time/environment` (or, if it is not recorded, `environment/seconds`, which is then subtracted from sampling) over the last `toolBatches` batches is >= `environmentShare` x median `time/generate`.',
	silent: 'in runs without an environment.',
	metrics: ['environment/seconds', 'time/environment', 'time/generate'],
	thresholds: ['environmentShare', 'toolBatches'],
	explains: ['throughput-drop'],
	watch: () => new EnvironmentSlowWatch(),
};
