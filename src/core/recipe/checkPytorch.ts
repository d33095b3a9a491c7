import type { Recipe } from '../../protocol/recipe.ts';
import { processesOf } from './checkBatches.ts';
import { checkTrainerBlock } from './checkTrainerBlock.ts';
import { dataFileKind, hasHubDatasetForm } from './hubId.ts';
import type { Report } from './pathFault.ts';

/** Checks for conflicting pytorch and ray settings. Unsupported keys are declared along with the keys themselves. */
export function checkPytorch(recipe: Recipe, report: Report): void {
	checkModel(recipe, report);
	checkSettings(recipe, report);
	checkVllm(recipe, report);
	checkRay(recipe, report);
	for (const [i, stage] of recipe.stages.entries()) checkTrainerBlock(stage, i, report);
}

function checkModel(recipe: Recipe, report: Report): void {
	const { model, template, dataset } = recipe;
	const isNew = !('path' in model);
	if (typeof template === 'object') {
		if (template.system !== undefined && template.chat !== true) {
			report(['template', 'system'], '"system" is a message of a chat: add "chat": true, or put it into "prompt".');
		}
		if (template.chat === true && isNew) {
			report(['template', 'chat'], '"chat" needs a chat template, which a new model lacks: name a model by "path".');
		}
	}
	if (!isNew || 'task' in dataset) return;
	// The vocabulary is built from the rows, and only the trainer can read other formats.
	const path = dataset.path ?? '';
	const kind = dataFileKind(path);
	if (kind === 'jsonl' || (kind === null && path !== '' && !hasHubDatasetForm(path))) return;
	report(
		['model'],
		'A new model makes its vocabulary of a task or of a JSONL file, and this dataset is neither: name a model by "path", or convert the data.',
	);
}

function checkSettings(recipe: Recipe, report: Report): void {
	const { pytorch, device, rewards } = recipe;
	if (pytorch === undefined) return;
	const place = (...path: string[]) => ['pytorch', ...path];
	if (pytorch.strategy === 'fsdp' && processesOf(recipe) === 1) {
		const where = recipe.engine === 'ray' ? '"workers" of "ray"' : '"processes"';
		report(
			place('strategy'),
			`"fsdp" shares the model among processes, and there is one: raise ${where}, or remove it.`,
		);
	}
	if (pytorch.strategy === 'fsdp' && pytorch.lora?.quantize !== undefined && pytorch.lora.quantize !== 'none') {
		report(place('strategy'), '"fsdp" with quantized weights is not supported: remove "quantize", or take "ddp".');
	}
	if (device === 'cpu' && pytorch.precision === 'float16') {
		report(place('precision'), '"float16" needs a GPU, and "device" is "cpu": choose float32 or bfloat16.');
	}
	if (pytorch.attention === 'flash_attention_2') {
		if (device === 'cpu') {
			report(place('attention'), '"flash_attention_2" needs a GPU, and "device" is "cpu": choose sdpa or auto.');
		} else if (pytorch.precision === 'float32') {
			report(
				place('attention'),
				'"flash_attention_2" computes in bfloat16 or float16: change "precision", or take sdpa.',
			);
		}
	}
	const quantize = pytorch.lora?.quantize ?? 'none';
	if (quantize !== 'none') {
		if (device === 'cpu') {
			report(place('lora', 'quantize'), `"quantize" ${quantize} needs a GPU, and "device" is "cpu": remove it.`);
		}
		if (!('path' in recipe.model)) {
			report(place('lora', 'quantize'), '"quantize" freezes trained weights, and this model is new: remove it.');
		}
	}
	if (pytorch.rewards === 'in-process' && !rewards.some((reward) => 'file' in reward && reward.file.endsWith('.py'))) {
		report(place('rewards'), '"in-process" is for Python reward files, and "rewards" names none: remove it.');
	}
	const packs = recipe.stages.some((stage) => stage.type === 'sft' || stage.type === 'distill');
	if (pytorch.packing === true && !packs) {
		report(place('packing'), '"packing" is for the stages sft and distill, and there is none: remove it.');
	}
}

function checkVllm(recipe: Recipe, report: Report): void {
	const vllm = recipe.pytorch?.vllm;
	if (vllm === undefined) return;
	const place = (...path: string[]) => ['pytorch', 'vllm', ...path];
	const mode = vllm.mode ?? 'colocate';
	if (recipe.device === 'cpu') report(place(), '"vllm" needs a GPU, and "device" is "cpu": remove it.');
	if (!('path' in recipe.model)) {
		report(place(), '"vllm" does not know the architecture of a new model: remove it, or name a model by "path".');
	}
	if (!recipe.stages.some(({ type }) => type === 'grpo' || type === 'rloo')) {
		report(place(), '"vllm" generates for the stages grpo and rloo, and there is none: remove it.');
	}
	if (mode === 'server') {
		if (vllm.server === undefined) {
			report(place('mode'), '"server" needs an address: add "server", such as "http://127.0.0.1:8000".');
		} else if (!/^https?:\/\/[^/\s]+/.test(vllm.server)) {
			report(place('server'), `"server" must be an address such as "http://127.0.0.1:8000", not "${vllm.server}".`);
		}
		for (const key of ['memory', 'tensorParallel'] as const) {
			if (vllm[key] === undefined) continue;
			report(place(key), `"${key}" is for "mode": "colocate"; a server has settings of its own: remove it.`);
		}
	} else if (vllm.server !== undefined) {
		report(place('server'), '"server" is for "mode": "server": set it, or remove the address.');
	}
	const processes = processesOf(recipe);
	if (vllm.tensorParallel !== undefined && processes % vllm.tensorParallel !== 0) {
		report(
			place('tensorParallel'),
			`"tensorParallel" ${vllm.tensorParallel} does not divide the ${processes} training processes: choose a divisor.`,
		);
	}
}

function checkRay(recipe: Recipe, report: Report): void {
	const { ray, pytorch, engine, device } = recipe;
	if (engine !== 'ray') {
		if (ray !== undefined) report(['ray'], '"ray" is for the engine "ray": set "engine": "ray", or remove it.');
		return;
	}
	if (pytorch?.processes !== undefined) {
		report(['pytorch', 'processes'], '"processes" is for one machine; with "ray" it is "workers" of "ray": remove it.');
	}
	if (ray?.address !== undefined && !/^https?:\/\/[^/\s]+/.test(ray.address)) {
		const hint = ray.address.startsWith('ray://') ? " (ray:// is Ray's client; runs are submitted as jobs)" : '';
		report(['ray', 'address'], `"address" must be the dashboard's, such as "http://127.0.0.1:8265"${hint}.`);
	}
	if (device === 'cpu' && (ray?.gpusPerWorker ?? 0) > 0) {
		report(['ray', 'gpusPerWorker'], '"gpusPerWorker" asks for GPUs, and "device" is "cpu": change one of them.');
	}
	if (device === 'cuda' && ray?.gpusPerWorker === 0) {
		report(['ray', 'gpusPerWorker'], '"gpusPerWorker" is 0, and "device" is "cuda": change one of them.');
	}
	if (ray?.verl !== undefined && ray.payload !== 'verl') {
		report(['ray', 'verl'], '"verl" is for "payload": "verl": set it, or remove these keys.');
	}
	if (ray?.payload === 'verl') {
		for (const [i, { type }] of recipe.stages.entries()) {
			if (type === 'grpo' || type === 'rloo') continue;
			report(
				['stages', i, 'type'],
				`verl is given the stages grpo and rloo, not "${type}": remove it, or take "payload": "trl".`,
			);
		}
		if (!('path' in recipe.model)) {
			report(['model'], 'verl does not know the architecture of a new model: name a model by "path".');
		}
	}
}
