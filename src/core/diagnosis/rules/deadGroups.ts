import type { Evidence } from '../../../protocol/alert.ts';
import {
	type DiagnosisRun,
	type Row,
	recipeAdvice,
	recipePath,
	setAdvice,
	stagePath,
	stageSetting,
} from '../diagnosisRun.ts';
import { maxEvidence, RecentFacts } from '../recentFacts.ts';
import type { AlertContent, Rule, RuleFinding, Watch } from '../rule.ts';
import { OpeningMean, Recent } from '../series.ts';
import { Solving } from '../solving.ts';
import { type GroupFacts, isDead } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

type Cause = 'solved' | 'too-hard' | 'truncated' | 'parse-failed' | 'alike';

const share = (values: readonly unknown[], wanted: unknown) =>
	values.length === 0 ? 0 : values.filter((value) => value === wanted).length / values.length;

/**
 * Smallest and largest reward across many groups. Without a correctness reward, a reward counts as good or bad relative
 * to this range.
 */
interface Scale {
	readonly low: number;
	readonly high: number;
}

/** Returns the cause of a dead group, or null if unknown. */
function causeOf(group: GroupFacts, scale: Scale): Cause | null {
	const judged = group.correct.some((value) => value !== null);
	const reward = group.reward[0] as number;
	const right = judged
		? share(group.correct, true) === 1
		: scale.high > scale.low && reward >= scale.high - 0.1 * (scale.high - scale.low);
	if (right) return 'solved';
	if (share(group.truncated, true) >= 0.5) return 'truncated';
	if (share(group.answered, false) >= 0.5) return 'parse-failed';
	if (group.distinct !== null && group.distinct <= group.reward.length / 2) return 'alike';
	const wrong = judged
		? share(group.correct, false) === 1
		: scale.high > scale.low && reward <= scale.low + 0.1 * (scale.high - scale.low);
	return wrong ? 'too-hard' : null;
}

/** Returns whether all completions are incorrect even though most are finished and have an answer. */
const isAllWrong = (group: GroupFacts) =>
	share(group.correct, false) === 1 && share(group.truncated, true) < 0.5 && share(group.answered, false) < 0.5;

/** Returns 1 if the temperature is below 1, and 1.5 times the temperature otherwise. */
const hotter = (temperature: number) =>
	temperature < 1 ? 1 : Number((limit('hotterBy') * temperature).toPrecision(2));

class DeadGroupsWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #shares = new Recent(limit('deadBatches'));
	readonly #facts = new RecentFacts(limit('deadBatches'));
	readonly #solving: Solving;
	/** Mean correctness reward over the first batches of the stage. */
	#opening = new OpeningMean(limit('openingBatches'));
	#stage = 'grpo';
	/** Whether metrics provide the fraction of dead groups. If not, the fraction is computed from rollouts. */
	#reported = false;

	constructor(run: DiagnosisRun) {
		this.#run = run;
		this.#solving = new Solving(run);
	}

	stage(): void {
		this.#shares.clear();
		this.#facts.clear();
		this.#opening = new OpeningMean(limit('openingBatches'));
	}

	row(row: Parameters<NonNullable<Watch['row']>>[0]): readonly RuleFinding[] | undefined {
		this.#stage = row.stage;
		const right = this.#solving.row(row);
		if (right !== null) this.#opening.push(right);
		const [all, none] = [row.get('groups/solved_all'), row.get('groups/solved_none')];
		const dead = row.get('groups/dead') ?? this.#byGroups(row) ?? (all === null || none === null ? null : all + none);
		if (dead === null) return undefined;
		// A step's facts arrive before its row, so the step's fraction would be counted twice.
		if (!this.#reported) this.#shares.clear();
		this.#reported = true;
		this.#shares.push(dead);
		return this.#judge();
	}

	/**
	 * Returns TRL's fraction if it counts groups. With per-batch reward scaling, it is 0 or 1 and does not describe
	 * groups.
	 */
	#byGroups(row: Row): number | null {
		const stage = this.#run.stages.findLast(({ type }) => type === row.stage);
		return stage?.settings.scale_rewards === 'batch' ? null : row.get('frac_reward_zero_std');
	}

	step(facts: Parameters<NonNullable<Watch['step']>>[0]): readonly RuleFinding[] | undefined {
		this.#facts.push(facts);
		if (this.#reported) return this.#shares.full ? this.#judge() : undefined;
		const groups = facts.groups.filter(({ reward }) => reward.length > 1);
		if (groups.length === 0) return undefined;
		this.#shares.push(groups.filter(isDead).length / groups.length);
		return this.#judge();
	}

	#judge(): readonly RuleFinding[] {
		const mean = this.#shares.mean();
		if (!this.#shares.full) return [];
		if (mean < limit('deadShare')) return this.#neverRight();
		const cause = this.#cause();
		return [
			{
				...(cause === null ? {} : { about: cause }),
				level: cause === 'solved' ? 'info' : 'warning',
				content: () => this.#content(mean, cause),
			},
		];
	}

	/**
	 * Whether no answer has been correct since the first batch. A policy that collapsed later had some correct answers.
	 */
	get #isHopeless(): boolean {
		const [first, now] = [this.#opening.mean, this.#solving.training];
		return first !== null && now !== null && Math.max(first, now) < limit('hopelessShare');
	}

	/**
	 * Detects groups without a correct answer. Their variance comes from other rewards, so they carry no signal about
	 * answers.
	 */
	#neverRight(): readonly RuleFinding[] {
		if (!this.#isHopeless || this.#facts.count < limit('deadBatches')) return [];
		const groups = [...this.#facts.groups()];
		const wrong = groups.filter(({ group }) => isAllWrong(group));
		const wrongShare = wrong.length / groups.length;
		if (!(wrongShare >= limit('deadShare'))) return [];
		return [
			{
				about: 'too-hard',
				level: 'warning',
				content: () => ({
					...this.#content(wrongShare, 'too-hard'),
					message: `Problems are too hard: no completion is correct in ${percent(wrongShare)} of the groups from the last ${limit('deadBatches')} batches, and hardly any have been correct since the first batch. Only other rewards vary within groups.`,
					evidence: wrong.slice(0, maxEvidence).map(({ step, group }) => ({ step, group: group.group })),
				}),
			},
		];
	}

	#scale(): Scale {
		let low = Number.POSITIVE_INFINITY;
		let high = Number.NEGATIVE_INFINITY;
		for (const { group } of this.#facts.groups()) {
			for (const reward of group.reward) {
				if (reward === null) continue;
				low = Math.min(low, reward);
				high = Math.max(high, reward);
			}
		}
		return { low, high };
	}

	#cause(): Cause | null {
		const scale = this.#scale();
		const counts = new Map<Cause, number>();
		let dead = 0;
		let judged = 0;
		let rightAlike = 0;
		let right = 0;
		for (const { group } of this.#facts.groups()) {
			for (const correct of group.correct) {
				if (correct === null) continue;
				judged++;
				if (correct) right++;
			}
			if (!isDead(group)) continue;
			dead++;
			const cause = causeOf(group, scale);
			if (cause === 'solved' && group.distinct !== null && group.distinct <= group.reward.length / 2) rightAlike++;
			if (cause !== null) counts.set(cause, (counts.get(cause) ?? 0) + 1);
		}
		if (dead === 0) return this.#solving.solved === true ? 'solved' : null;
		// More diverse sampling does not help if none of hundreds of completions is correct.
		if (judged > 0 && right < limit('hopelessShare') * judged) {
			counts.set('too-hard', (counts.get('too-hard') ?? 0) + (counts.get('alike') ?? 0));
			counts.delete('alike');
		}
		const [commonest] = [...counts].sort((a, b) => b[1] - a[1]);
		if (commonest !== undefined && commonest[1] / dead >= limit('deadCauseShare')) return commonest[0];
		// A policy without entropy also produces identical completions in the groups it solves.
		const alike = counts.get('alike') ?? 0;
		const isUnsolved = this.#solving.solved === false && alike > 0;
		return isUnsolved && (alike + rightAlike) / dead >= limit('deadCauseShare') ? 'alike' : null;
	}

	#content(mean: number, cause: Cause | null): AlertContent {
		const said = `${percent(mean)} of the groups in the last ${limit('deadBatches')} batches are dead: all completions got the same reward, so there is no gradient`;
		const common = { metrics: ['groups/dead', 'frac_reward_zero_std', 'reward_std'], evidence: this.#evidence(cause) };
		const judged = this.#judged();
		const key = (name: string) => stagePath(this.#run, this.#stage, name);
		switch (cause) {
			case 'solved':
				return {
					...common,
					message: judged
						? `${said}. Most of them are solved: every completion is correct.`
						: `${said}. Most of them are solved: every completion scores close to the highest reward seen.`,
					cause: 'problems too easy',
					action: 'Continue with harder problems, or end this stage.',
					recipe: this.#sized('harder problems', (size) => size + 1),
				};
			case 'too-hard':
				return {
					...common,
					message: judged
						? `${said}. Most of them are too hard: no completion is correct.`
						: `${said}. Most of them are too hard: every completion scores close to the lowest reward seen.`,
					cause: 'problems too hard',
					explains: ['dominant-reward', 'format-without-accuracy', ...(this.#isHopeless ? ['kl-blow-up'] : [])],
					action:
						'Start with easier problems or a longer cold start, or sample more completions per prompt so that one is more likely to be correct.',
					recipe: this.#sized('easier problems, at least initially', (size) => Math.max(1, Math.floor(size / 2))),
				};
			case 'truncated': {
				const longest = stageSetting(this.#run, this.#stage, 'max_completion_length');
				return {
					...common,
					message: `${said}. In most of them, completions are truncated before they give an answer.`,
					cause: 'completions truncated',
					action: 'Raise the completion length limit.',
					recipe: setAdvice(
						key('max_completion_length'),
						longest === null ? 'a higher token limit' : `${2 * longest} tokens instead of ${longest}`,
						longest === null ? null : 2 * longest,
					),
				};
			}
			case 'parse-failed':
				return {
					...common,
					message: `${said}. In most of them, no answer can be parsed because completions do not mark it as expected.`,
					cause: 'answers cannot be parsed',
					action:
						'Reward the format, teach it in a cold start, or check that the prompt asks for the markers that the reward expects.',
					recipe: recipeAdvice(recipePath(this.#run, 'rewards'), 'a format reward, such as {"use": "format"}'),
				};
			case 'alike': {
				const temperature = stageSetting(this.#run, this.#stage, 'temperature');
				return {
					...common,
					message: `${said}. Most of them repeat the same${judged ? ' wrong' : ''} completion: sampling has almost no diversity.`,
					cause: temperature === null || temperature < 1 ? 'sampling temperature too low' : 'policy without entropy',
					action: 'Raise the sampling temperature.',
					...(temperature !== null && temperature < limit('coldTemperature')
						? { explains: ['learning-rate-high', 'kl-blow-up', 'entropy-collapse', 'wrong-answers'] }
						: {}),
					recipe: setAdvice(
						key('temperature'),
						temperature === null ? 'higher than the current value' : `${hotter(temperature)} instead of ${temperature}`,
						temperature === null ? null : hotter(temperature),
					),
				};
			}
			case null:
				return {
					...common,
					message: `${said}.`,
					action:
						'Inspect a few of these groups: are their completions all correct, all incorrect, truncated, or identical?',
					recipe: null,
				};
		}
	}

	/** Returns advice on the problem size of a task, including a concrete value if the task has a single size setting. */
	#sized(suggestion: string, change: (size: number) => number) {
		const key = ['digits', 'terms', 'length'].find((name) => typeof this.#run.dataset?.[name] === 'number');
		if (key === undefined) return recipeAdvice(recipePath(this.#run, 'dataset'), suggestion);
		const size = this.#run.dataset?.[key] as number;
		const next = change(size);
		return next === size
			? recipeAdvice(recipePath(this.#run, 'dataset'), suggestion)
			: setAdvice(recipePath(this.#run, 'dataset', key), `${suggestion}: ${next} instead of ${size}`, next);
	}

	/** Returns whether correctness is known. Rewards alone show only which completions score higher. */
	#judged(): boolean {
		let dead = false;
		for (const { group } of this.#facts.groups()) {
			if (!isDead(group)) continue;
			dead = true;
			if (group.correct.some((value) => value !== null)) return true;
		}
		return !dead && this.#solving.accuracy !== null;
	}

	#evidence(cause: Cause | null): Evidence[] {
		const scale = this.#scale();
		const found: Evidence[] = [];
		for (const { step, group } of this.#facts.groups()) {
			if (!isDead(group) || (cause !== null && causeOf(group, scale) !== cause)) continue;
			found.push({ step, group: group.group });
			if (found.length === maxEvidence) break;
		}
		return found;
	}
}

export const deadGroups: Rule = {
	name: 'dead-groups',
	title: 'Dead groups',
	fires:
		'the mean of `groups/dead` over the last `deadBatches` batches is >= `deadShare`. If it is not recorded, the rule uses `frac_reward_zero_std` (unless rewards are scaled per batch), or the fraction of groups that are all correct or all incorrect, or counts from rollouts. The reported cause is the one shared by at least `deadCauseShare` of the dead groups among the newest rollouts: *solved* (all correct), *truncated* (at least half of the completions), *parse failed* (no answer can be parsed in at least half), *alike* (at most half of the completions are distinct; if no cause reaches this threshold and the task is not solved, groups that are both correct and alike count too), *too hard* (none correct). If fewer than `hopelessShare` of all completions are correct, alike groups count as too hard. `too-hard` also applies if the reward for answer correctness was below `hopelessShare` in the first `openingBatches` batches and still is in the last `shortRun`, and `deadShare` of the groups are all incorrect although most of their completions can be parsed and are not truncated: in that case, another reward causes the variance.',
	silent: 'for a batch or two without reward variance. `solved` is reported for information only.',
	metrics: ['groups/dead', 'frac_reward_zero_std', 'groups/solved_all', 'groups/solved_none'],
	thresholds: [
		'deadShare',
		'deadBatches',
		'deadCauseShare',
		'hopelessShare',
		'openingBatches',
		'shortRun',
		'coldTemperature',
		'hotterBy',
		'solvedAccuracy',
	],
	watch: (run) => new DeadGroupsWatch(run),
};
