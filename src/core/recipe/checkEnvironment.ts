import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { isEnvironmentFile } from '../episode/environmentLanguage.ts';
import { isServerAddress } from '../episode/serverAddress.ts';
import { resolveTemplate, withCallTags } from '../text/template.ts';
import { processesOf } from './checkBatches.ts';
import { attempt, type Report } from './pathFault.ts';

/** Finds conflicts between an environment and the rest of a recipe, and environment rewards in recipes without one. */
export function checkEnvironment(recipe: Recipe, report: Report): void {
	const { environment, rewards, template, stages, engine } = recipe;
	const reward = rewards.findIndex((one) => 'use' in one && one.use === 'environment');
	if (environment === undefined) {
		if (reward >= 0)
			report(['rewards', reward], 'The reward "environment" requires an "environment". Add one to the recipe.');
		for (const [i, stage] of stages.entries()) {
			if (stage.type === 'grpo' && stage.world_model_coeff !== undefined && engine === 'embedded') {
				report(
					['stages', i, 'world_model_coeff'],
					'"world_model_coeff" trains the policy to predict the environment\'s responses, so it requires an "environment". Remove it, or add one.',
				);
			}
			if (stage.type === 'grpo' && stage.credit_assignment === 'turn') {
				report(
					['stages', i, 'credit_assignment'],
					'Only episodes have turns, so "credit_assignment" needs an "environment". Remove it, or add one.',
				);
			}
			if (stage.type !== 'sft' || stage.demonstrations === undefined) continue;
			report(
				['stages', i, 'demonstrations'],
				'"demonstrations" are episodes, so they require an "environment". Add one to the recipe.',
			);
		}
		return;
	}
	checkSource(environment, report);
	if (engine === 'embedded') {
		checkEpisodes(recipe, report);
		return;
	}
	checkSampling(recipe, report);
	if (typeof template !== 'object' || template.chat !== true) {
		report(
			['environment'],
			'Tool calls require a chat template. Add "template": {"prompt": "{prompt}", "chat": true}.',
		);
	}
	for (const [i, { type }] of stages.entries()) {
		if (type === 'rloo') report(['stages', i], 'Only grpo stages train on environments. Use "grpo".');
	}
}

/**
 * TRL samples more turns only in processes with unfinished episodes, so sampling must not depend on other processes.
 */
function checkSampling(recipe: Recipe, report: Report): void {
	const { vllm, strategy } = recipe.pytorch ?? {};
	if (vllm?.mode === 'server') {
		report(
			['pytorch', 'vllm', 'mode'],
			'TRL asks a vLLM server for one prompt per group, but the episodes in a group have different turns. Use "colocate".',
		);
	}
	if (processesOf(recipe) === 1) return;
	if (strategy === 'fsdp') {
		report(
			['pytorch', 'strategy'],
			'Processes that share the model with "fsdp" must sample together, but their episodes have different numbers of turns. Use "ddp".',
		);
	}
	if ((vllm?.tensorParallel ?? 1) > 1) {
		report(
			['pytorch', 'vllm', 'tensorParallel'],
			'Processes that share vLLM must sample together, but their episodes have different numbers of turns. Set it to 1.',
		);
	}
}

const sources = ['file', 'package', 'server'] as const;

/** Checks that a recipe's environment is specified in exactly one way. */
function checkSource(environment: NonNullable<Recipe['environment']>, report: Report): void {
	const [first, second] = sources.filter((name) => environment[name] !== undefined);
	if (first === undefined) {
		report(['environment'], 'The environment has no source. Set "file", "package", or "server".');
	} else if (second !== undefined) {
		report(['environment', second], `The environment has both "${first}" and "${second}". Remove one.`);
	}
	const { file, server } = environment;
	if (file !== undefined && !isEnvironmentFile(file)) {
		report(['environment', 'file'], `"${file}" is not an environment file. Use a *.env.py or *.env.ts file.`);
	}
	if (server !== undefined && !isServerAddress(server)) {
		report(['environment', 'server'], `"${server}" is not a server address. Use "http://HOST:PORT".`);
	}
	if (first === 'file' && environment.arguments !== undefined) {
		report(['environment', 'arguments'], 'Environment files do not take arguments. Use dataset columns instead.');
	}
}

/** The embedded engine plays episodes in sft and grpo stages only. */
function checkEpisodes({ template, stages }: Recipe, report: Report): void {
	// Other errors in the template are reported elsewhere.
	const own = attempt(
		() => undefined,
		['template'],
		() => resolveTemplate(template),
	);
	if (own !== null) attempt(report, ['template'], () => withCallTags(own));
	for (const [i, stage] of stages.entries()) {
		if (stage.type === 'sft' && stage.data !== undefined) {
			report(
				['stages', i, 'data'],
				'In a recipe with an environment, sft stages train on episodes. Remove "data", or move the stage to a recipe without "environment".',
			);
		}
		if (stage.type === 'sft' || stage.type === 'grpo' || stage.type === 'pretrain') continue;
		report(
			['stages', i, 'type'],
			`On the embedded engine, "${stage.type}" stages cannot train on environments. Use "sft" or "grpo".`,
		);
	}
}
