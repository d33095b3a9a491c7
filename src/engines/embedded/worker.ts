import { parentPort } from 'node:worker_threads';
import { Failure } from '../../base/failure.ts';
import type { PrecisionName } from '../../protocol/recipeKeys/torchRecipe.ts';
import type { ModelShape } from '../shared/modelShape.ts';
import { Executor } from './compute/executor.ts';
import type { GradientJob, Job, JobResults, Reply, TeacherRef } from './compute/jobs.ts';
import { probeProviders } from './compute/probe.ts';
import { dialectOf, type ProviderName } from './compute/providers.ts';
import { Tensors } from './compute/runtime.ts';
import type { DeviceTraffic } from './learner.ts';

/** Entry point of a compute worker. Processes jobs from the main thread one at a time. */

let executor: Executor | undefined;
let provider: ProviderName | undefined;
let precision: PrecisionName = 'float32';
/** A second model, with different sizes, created on first use. */
let teacher: { readonly sizes: string; readonly executor: Executor } | undefined;

async function executorFor(shape: ModelShape, device: ProviderName): Promise<Executor> {
	return new Executor(shape, device, await Tensors.load(), dialectOf(device, precision));
}

async function teacherOf({ shape }: TeacherRef): Promise<Executor> {
	const sizes = JSON.stringify(shape);
	if (teacher?.sizes !== sizes) {
		await teacher?.executor.release();
		teacher = { sizes, executor: await executorFor(shape, provider as ProviderName) };
	}
	return teacher.executor;
}

async function distributionOf({
	batch,
	temperature,
	teacher: ref,
}: GradientJob): Promise<Float32Array<ArrayBuffer> | null> {
	if (ref === undefined) return null;
	return (await teacherOf(ref)).distribution({ kind: 'logprobs', weights: ref.weights, batch, temperature });
}

async function perform(job: Job): Promise<JobResults[Job['kind']]> {
	if (job.kind === 'open') {
		const opened = await probeProviders(job);
		provider = opened.provider;
		precision = job.precision;
		executor = await executorFor(job.shape, provider);
		return opened;
	}
	if (executor === undefined)
		throw new Failure('internal', 'A compute worker received a job before it was initialized.');
	switch (job.kind) {
		case 'sample':
			return (job.teacher === undefined ? executor : await teacherOf(job.teacher)).sample(job);
		case 'logprobs':
			return executor.logprobs(job);
		case 'gradient':
			return executor.gradient(job, await distributionOf(job));
		case 'latent gradient':
			return executor.latentGradient(job);
		case 'values':
			return executor.values(job);
		case 'value gradient':
			return executor.valueGradient(job);
		case 'add':
			return executor.add(job);
		case 'adamW':
			return executor.adamW(job);
		default:
			return executor.onDevice(job);
	}
}

/** Returns the traffic to and from the device since the last job, or an empty object on the CPU. */
function trafficOf(): { readonly traffic?: DeviceTraffic } {
	if (provider === undefined || provider === 'cpu') return {};
	const [own, other] = [executor, teacher?.executor].map((one) => one?.traffic.take());
	return {
		traffic: {
			bytesUp: (own?.bytesUp ?? 0) + (other?.bytesUp ?? 0),
			bytesDown: (own?.bytesDown ?? 0) + (other?.bytesDown ?? 0),
			dispatches: (own?.dispatches ?? 0) + (other?.dispatches ?? 0),
		},
	};
}

/** Returns the buffers in a result, which are transferred to the main thread. */
function transferList(result: JobResults[Job['kind']]): ArrayBuffer[] {
	const buffers = Object.values(result).flatMap((value) =>
		ArrayBuffer.isView(value) && value.buffer instanceof ArrayBuffer ? [value.buffer] : [],
	);
	return [...new Set(buffers)];
}

const port = parentPort;
port?.on('message', async ({ id, job }: { id: number; job: Job }) => {
	try {
		const result = await perform(job);
		const traffic = trafficOf();
		port.postMessage({ id, result, ...traffic } satisfies Reply, transferList(result));
	} catch (error) {
		port.postMessage({ id, failure: Failure.from(error, 'A computation failed').toJSON() } satisfies Reply);
	}
});
