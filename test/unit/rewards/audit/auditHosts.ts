// @reaches rewardHost rewardPython
import type { TestContext } from 'node:test';
import { exactVerifier } from '../../../../src/core/reward/accuracyReward.ts';
import type { SampledProblem } from '../../../../src/core/reward/verification/rowsToVerify.ts';
import { resolveTemplate, type Template } from '../../../../src/core/text/template.ts';
import type { AuditReport } from '../../../../src/protocol/audit.ts';
import type { RewardContext } from '../../../../src/protocol/rewardHost.ts';
import { auditReward } from '../../../../src/rewards/auditReward.ts';
import { RewardHosts } from '../../../../src/rewards/rewardHosts.ts';
import { findRewardPrograms } from '../../../../src/rewards/rewardPrograms.ts';
import type { RewardLimits, RewardRunner, RewardSource } from '../../../../src/rewards/rewardRunner.ts';
import { builtHostFolder } from '../../../support/programs.ts';

export const r1 = resolveTemplate('r1');

export function contextOf(template: Template, task: RewardContext['task'] = null): RewardContext {
	const pair = (tags: Template['think']): [string, string] | null => (tags === null ? null : [tags[0], tags[1]]);
	return { tags: { think: pair(template.think), answer: pair(template.answer) }, task, folder: import.meta.dirname };
}

/** Opens reward hosts that end with the test, together with their processes. */
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

export function audit(
	runner: RewardRunner,
	reward: string,
	problems: readonly SampledProblem[],
	more: Partial<Parameters<typeof auditReward>[1]> = {},
): Promise<AuditReport> {
	return auditReward(runner, { file: 'test', reward, problems, template: r1, verify: exactVerifier, ...more });
}

export const foundBy = (report: AuditReport) => report.findings.map(({ probe }) => probe);
