// @reaches rewardHost rewardPython
import type { TestContext } from 'node:test';
import { exactVerifier } from '../../../../src/core/reward/accuracyReward.ts';
import type { SampledProblem } from '../../../../src/core/reward/verification/rowsToVerify.ts';
import { resolveTemplate, type Template } from '../../../../src/core/text/template.ts';
import type { AuditReport } from '../../../../src/protocol/audit.ts';
import type { RewardContext } from '../../../../src/protocol/rewardHost.ts';
import { auditReward } from '../../../../src/rewards/auditReward.ts';
import type { BuiltIn } from '../../../../src/rewards/builtInReward.ts';
import { createBuiltIn } from '../../../../src/rewards/builtIns.ts';
import { sampleOf } from '../../../../src/rewards/host/sample.ts';
import { RewardHosts } from '../../../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../../../src/rewards/rewardPrograms.ts';
import type { RewardLimits, RewardRunner, RewardSource } from '../../../../src/rewards/rewardRunner.ts';
import { builtHostFolder } from '../../../support/programs.ts';

export const r1 = resolveTemplate('r1');

export function contextOf(template: Template, task: RewardContext['task'] = null): RewardContext {
	const pair = (tags: Template['think']): [string, string] | null => (tags === null ? null : [tags[0], tags[1]]);
	return { tags: { think: pair(template.think), answer: pair(template.answer) }, task, folder: import.meta.dirname };
}

/** Opens reward hosts that are closed after the test, together with their processes. */
export async function openHosts(context: TestContext, limits: Partial<RewardLimits> = {}): Promise<RewardHosts> {
	const hosts = new RewardHosts(await findRewardPrograms(), { folder: builtHostFolder(), limits });
	context.after(async () => {
		hosts.dispose();
		await hosts.closed();
	});
	return hosts;
}

export async function openRunner(context: TestContext, source: RewardSource): Promise<RewardRunner> {
	return (await openHosts(context)).open(source);
}

/** Runs built-in rewards in this process, without a host and its limits. */
export async function builtInsHere(source: Extract<RewardSource, { builtIns: unknown }>): Promise<RewardRunner> {
	const rewards = new Map<string, BuiltIn>();
	for (const entry of source.builtIns) rewards.set(entry.name, await createBuiltIn({ ...entry }, source.context));
	const { signal } = new AbortController();
	return {
		source,
		files: [],
		describe: () => Promise.reject(new Error('not supported')),
		async score(name, rows) {
			const reward = rewards.get(name);
			if (reward === undefined) throw new Error(`There is no reward ${name}.`);
			const start = performance.now();
			const values: (number | null)[] = [];
			for (const row of rows) values.push(await reward.score(sampleOf(row, source.context.tags), signal));
			return { values, errors: [], logs: [], durationMs: performance.now() - start, isolated: false };
		},
		reload() {},
		dispose() {},
	};
}

export function audit(
	runner: RewardRunner,
	reward: string,
	problems: readonly SampledProblem[],
	more: Partial<Parameters<typeof auditReward>[1]> = {},
): Promise<AuditReport> {
	return auditReward(runner, { file: 'test', reward, problems, template: r1, verify: exactVerifier, ...more });
}

export const foundBy = (report: AuditReport) => report.findings.map(({ probe }) => probe);
