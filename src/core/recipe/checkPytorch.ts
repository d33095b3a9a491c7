import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { checkAsync } from './checkAsync.ts';
import { processesOf } from './checkBatches.ts';
import { checkTrainerBlock } from './checkTrainerBlock.ts';
import { dataFileKind, hasHubDatasetForm } from './hubId.ts';
import type { Report } from './pathFault.ts';

/** Checks for conflicting pytorch and ray settings. Engine support for a key is part of the key's declaration. */
export function checkPytorch(recipe: Recipe, report: Report): void {
	checkModel(recipe, report);
	checkSettings(recipe, report);
	checkVllm(recipe, report);
	checkRay(recipe, report);
	checkAsync(recipe, report);
	for (const [i, stage] of recipe.stages.entries()) checkTrainerBlock(stage, i, report);
}

function checkModel(recipe: Recipe, report: Report): void {
	const { model, template, dataset } = recipe;
	const isNew = !('path' in model);
	if (typeof template === 'object') {
		if (template.system !== undefined && template.chat !== true) {
			report(['template', 'system'], '"system" is a chat message. Add "chat": true, or move the text to "prompt".');
		}
		if (template.chat === true && isNew) {
			report(
				['template', 'chat'],
				'"chat" requires a chat template, which a new model does not have. Set the "path" of an existing model.',
			);
		}
	}
	if (!isNew || 'task' in dataset) return;
	// The vocabulary is built from the rows, and only the trainer can read other formats.
	const path = dataset.path ?? '';
	const kind = dataFileKind(path);
	if (kind === 'jsonl' || (kind === null && path !== '' && !hasHubDatasetForm(path))) return;
	report(
		['model'],
		'A new model builds its vocabulary from a task or a JSONL file, but this dataset is neither. Set the "path" of an existing model, or convert the data.',
	);
}

function checkSettings(recipe: Recipe, report: Report): void {
	const { pytorch, device, rewards } = recipe;
	const place = (...path: string[]) => ['pytorch', ...path];
	const precision = pytorch?.precision ?? recipe.precision;
	const precisionPlace = pytorch?.precision === undefined ? ['precision'] : place('precision');
	if (device === 'cpu' && precision === 'float16') {
		report(precisionPlace, '"float16" requires a GPU, but "device" is "cpu". Use float32 or bfloat16.');
	}
	if (pytorch === undefined) return;
	if (recipe.precision !== undefined && precision !== recipe.precision) {
		report(
			place('precision'),
			`"precision" is also set to "${recipe.precision}" outside "pytorch". Remove one of them.`,
		);
	}
	if (pytorch.strategy === 'fsdp' && processesOf(recipe) === 1) {
		const where = recipe.engine === 'ray' ? '"workers" of "ray"' : '"processes"';
		report(
			place('strategy'),
			`"fsdp" shards the model across processes, but there is only one. Raise ${where}, or remove it.`,
		);
	}
	if (pytorch.strategy === 'fsdp' && pytorch.lora?.quantize !== undefined && pytorch.lora.quantize !== 'none') {
		report(place('strategy'), '"fsdp" does not support quantized weights. Remove "quantize", or use "ddp".');
	}
	if (pytorch.attention === 'flash_attention_2') {
		if (device === 'cpu') {
			report(place('attention'), '"flash_attention_2" requires a GPU, but "device" is "cpu". Use sdpa or auto.');
		} else if (precision === 'float32') {
			report(
				place('attention'),
				'"flash_attention_2" supports only bfloat16 and float16. Change "precision", or use sdpa.',
			);
		}
	}
	const quantize = pytorch.lora?.quantize ?? 'none';
	if (quantize !== 'none') {
		if (device === 'cpu') {
			report(place('lora', 'quantize'), `"quantize" ${quantize} requires a GPU, but "device" is "cpu". Remove it.`);
		}
		if (!('path' in recipe.model)) {
			report(place('lora', 'quantize'), '"quantize" freezes pretrained weights, but this model is new. Remove it.');
		}
	}
	if (pytorch.rewards === 'in-process' && !rewards.some((reward) => 'file' in reward && reward.file.endsWith('.py'))) {
		report(place('rewards'), '"in-process" applies to Python reward files, but "rewards" has none. Remove it.');
	}
	const packs = recipe.stages.some((stage) => stage.type === 'sft' || stage.type === 'distill');
	if (pytorch.packing === true && !packs) {
		report(place('packing'), '"packing" applies to sft and distill stages, but there are none. Remove it.');
	}
}

/** Keys of a grpo stage that have no effect if transformers is used for generation. */
const vllmKeys = [
	'vllm_importance_sampling_correction',
	'vllm_importance_sampling_mode',
	'vllm_importance_sampling_clip_max',
	'vllm_importance_sampling_clip_min',
] as const;

function checkVllm(recipe: Recipe, report: Report): void {
	const vllm = recipe.pytorch?.vllm;
	if (vllm === undefined) {
		for (const [i, stage] of recipe.stages.entries()) {
			const key = stage.type === 'grpo' ? vllmKeys.find((name) => stage[name] !== undefined) : undefined;
			if (key === undefined) continue;
			report(
				['stages', i, key],
				`"${key}" corrects for generation with vLLM, which this recipe does not use. Remove it, or add "vllm" to "pytorch".`,
			);
		}
		return;
	}
	const place = (...path: string[]) => ['pytorch', 'vllm', ...path];
	const mode = vllm.mode ?? 'colocate';
	if (recipe.device === 'cpu') report(place(), '"vllm" requires a GPU, but "device" is "cpu". Remove it.');
	if (!('path' in recipe.model)) {
		report(
			place(),
			'"vllm" does not support the architecture of a new model. Remove it, or set the "path" of an existing model.',
		);
	}
	if (!recipe.stages.some(({ type }) => type === 'grpo' || type === 'rloo')) {
		report(place(), '"vllm" generates for grpo and rloo stages, but there are none. Remove it.');
	}
	if (mode === 'server') {
		if (vllm.server === undefined) {
			report(place('mode'), '"server" mode requires an address. Add "server", such as "http://127.0.0.1:8000".');
		} else if (!/^https?:\/\/[^/\s]+/.test(vllm.server)) {
			report(place('server'), `"server" must be an address such as "http://127.0.0.1:8000", not "${vllm.server}".`);
		}
		for (const key of ['memory', 'tensorParallel'] as const) {
			if (vllm[key] === undefined) continue;
			report(place(key), `"${key}" applies to "mode": "colocate"; a server has its own settings. Remove it.`);
		}
	} else if (vllm.server !== undefined) {
		report(place('server'), '"server" applies to "mode": "server". Set the mode, or remove the address.');
	}
	const processes = processesOf(recipe);
	if (vllm.tensorParallel !== undefined && processes % vllm.tensorParallel !== 0) {
		report(
			place('tensorParallel'),
			`"tensorParallel" ${vllm.tensorParallel} does not divide the ${processes} training processes. Choose a divisor.`,
		);
	}
}

function checkRay(recipe: Recipe, report: Report): void {
	const { ray, pytorch, engine, device } = recipe;
	if (engine !== 'ray') {
		if (ray !== undefined) report(['ray'], '"ray" applies to the ray engine. Set "engine": "ray", or remove it.');
		return;
	}
	if (pytorch?.processes !== undefined) {
		report(
			['pytorch', 'processes'],
			'"processes" applies to a single machine. With "ray", set "workers" in "ray" instead.',
		);
	}
	if (ray?.address !== undefined && !/^https?:\/\/[^/\s]+/.test(ray.address)) {
		const hint = ray.address.startsWith('ray://')
			? ' (ray:// is for the Ray client, but runs are submitted as jobs)'
			: '';
		report(['ray', 'address'], `"address" must be the dashboard address, such as "http://127.0.0.1:8265"${hint}.`);
	}
	if (device === 'cpu' && (ray?.gpusPerWorker ?? 0) > 0) {
		report(['ray', 'gpusPerWorker'], '"gpusPerWorker" requests GPUs, but "device" is "cpu". Change one of them.');
	}
	if (device === 'cuda' && ray?.gpusPerWorker === 0) {
		report(['ray', 'gpusPerWorker'], '"gpusPerWorker" is 0, but "device" is "cuda". Change one of them.');
	}
	if (ray?.verl !== undefined && ray.payload !== 'verl') {
		report(['ray', 'verl'], '"verl" applies to "payload": "verl". Set the payload, or remove these keys.');
	}
	if (ray?.payload === 'verl') {
		for (const [i, { type }] of recipe.stages.entries()) {
			if (type === 'grpo' || type === 'rloo') continue;
			report(
				['stages', i, 'type'],
				`verl supports grpo and rloo stages, not "${type}". Remove the stage, or use "payload": "trl".`,
			);
		}
		if (!('path' in recipe.model)) {
			report(['model'], 'verl does not support the architecture of a new model. Set the "path" of an existing model.');
		}
	}
}
