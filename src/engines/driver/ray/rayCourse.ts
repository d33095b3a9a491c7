import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Sequencer } from '../../../base/async.ts';
import { Failure } from '../../../base/failure.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import type { EngineWaitKind, RunRecord } from '../../../protocol/runRecord.ts';
import { pause } from '../../../rpc/pause.ts';
import { readMetricsEnd } from '../../../runs/runReader.ts';
import type { RunWriter } from '../../../runs/runWriter.ts';
import { type ClusterPlace, clusterPlace, isShared, offerPlace } from './clusterPlace.ts';
import { type JobEnd, jobEnd, readFailed } from './jobEnd.ts';
import { JobLog } from './jobLog.ts';
import { isVerl, prepareJob, submitJob } from './jobSubmission.ts';
import { isFinal, type JobRequest, type JobsApi } from './jobsApi.ts';
import { type JobSight, JobWatch } from './jobWatch.ts';
import { type LogFrame, readFrame } from './logFrames.ts';
import { type RayRecord, rayRecordOf } from './rayRecord.ts';
import { RelayControl } from './relayControl.ts';
import { FolderControl, type RemoteControl } from './requestFolder.ts';
import { localEvent, type Mirror, type MirroredRun, RunMirror } from './runMirror.ts';
import { ShadowFolder } from './shadowFolder.ts';
import { VerlMirror } from './verlJob/verlMirror.ts';

export interface RayCourseOptions {
	readonly api: JobsApi;
	readonly recipe: ResolvedRecipe;
	readonly writer: RunWriter;
	readonly resume: boolean;
	readonly parentCheckpoint: string | null;
	/** Folder that contains the build output. */
	readonly dist: string;
	/** Aborts when a stop is requested. */
	readonly stopSignal: AbortSignal;
	readonly onChanged: () => void;
	/** Mirror update interval in milliseconds. Default: 500. */
	readonly tickMs?: number;
	/** Job polling interval in milliseconds. Default: 2000. */
	readonly pollMs?: number;
	/** How long the cluster's driver has to exit before the job is stopped, in milliseconds. Default: 300000. */
	readonly stopMs?: number;
	/** Time after which an unresponsive cluster is reported, in milliseconds. Default: 5000. */
	readonly quietMs?: number;
	/** How long a stop waits for an unresponsive cluster, in milliseconds. Default: 15000. */
	readonly unreachableMs?: number;
}

/** Maximum length of job log lines. */
const longestLine = 4000;
/**
 * A run on a Ray cluster, as seen by its local driver. Submits the job or reattaches to it, and mirrors the run until
 * it ends.
 */
export class RayCourse {
	readonly #options: RayCourseOptions;
	readonly #place: ClusterPlace;
	readonly #shadow: ShadowFolder;
	readonly #syncs = new Sequencer();
	#request: JobRequest | null = null;
	#ray: RayRecord | null = null;
	#mirror: Mirror | null = null;
	#control: RemoteControl | null = null;
	#record: MirroredRun | null = null;
	#failed: Failure | null = null;
	/** Why data from the log could not be stored. */
	#logFailure: unknown = null;
	#stopping: Promise<void> | null = null;
	/** Time at which a stop was requested, or null if none was. */
	#stopAsked: number | null = null;
	/** Whether the job existed before this driver started. */
	#found = false;
	#unreachable = false;
	#device = '';

	constructor(options: RayCourseOptions) {
		this.#options = options;
		const { id } = options.writer.record;
		this.#place = clusterPlace(options.recipe.ray?.storage ?? null, id);
		this.#shadow = new ShadowFolder(join(clusterPlace(null, id).storage, `${id}.log`));
	}

	/** Connection to the driver on the cluster. Throws `unavailable` until it is established. */
	get control(): RemoteControl {
		if (this.#control !== null) return this.#control;
		if (this.#isVerl)
			throw new Failure('unsupported', 'verl does not accept requests during training.', 'Stop the run instead.');
		throw new Failure('unavailable', 'The run has not started on the cluster yet.', 'Try again in a moment.');
	}

	/** Whether folder paths in requests to the cluster's driver are also valid on this machine. */
	get shared(): boolean {
		return this.#ray?.shared === true;
	}

	get #isVerl(): boolean {
		return isVerl(this.#options.recipe);
	}

	/** Whether the run on the cluster has ended on its own and recorded its end. */
	get reportedEnd(): boolean {
		return this.#record?.status === 'finished' || this.#record?.status === 'stopped';
	}

	/** Synchronizes the local run immediately, before sending a response that reports changes. */
	async refresh(): Promise<void> {
		await this.#sync(true);
	}

	/** Runs from job submission to the end of the job. */
	async run(): Promise<JobEnd> {
		const { api, stopSignal, tickMs = 500, unreachableMs = 15_000 } = this.#options;
		const version = await api.version(stopSignal);
		await this.#options.writer.updateRecord({ versions: { ...this.#options.writer.record.versions, ray: version } });
		if (!(await this.#findAgain())) await this.#submit();
		const ray = this.#ray as RayRecord;
		const watch = new JobWatch(api, ray.job, { pollMs: this.#options.pollMs ?? 2000 });
		const end = new AbortController();
		const log = new JobLog(api, ray.job, (line) => this.#takeLine(line), {
			pollMs: this.#options.pollMs ?? 2000,
		});
		// Clear the shadow folder and reread the whole log before mirroring anything, because the log can contain repeated
		// steps.
		await this.tidy();
		if (this.#found) await log.readAll(stopSignal).catch(() => undefined);
		const following = log.follow(end.signal).catch((error: unknown) => {
			this.#logFailure = error;
		});
		try {
			for (;;) {
				if (this.#logFailure !== null) throw this.#logFailure;
				const sight = await watch.look();
				if (stopSignal.aborted) {
					this.#stopAsked ??= Date.now();
					this.#stopping ??= this.#stopRemote(end.signal);
				}
				await this.#sync(false);
				await this.#reportSight(sight);
				if (sight?.kind === 'gone') throw this.#lost();
				if (sight?.kind === 'unreachable' && this.#stopAsked !== null) {
					if (Date.now() - Math.max(sight.since, this.#stopAsked) > unreachableMs) throw this.#outOfReach();
				}
				if (sight?.kind === 'there' && isFinal(sight.job.status)) {
					end.abort();
					await following;
					await log.readAll().catch(() => undefined);
					await this.#sync(true);
					const failed = this.#failed ?? (await readFailed(this.#place.sidecar, ray.job));
					return jobEnd(sight.job, this.#record, {
						failed,
						stopAsked: stopSignal.aborted,
						address: ray.address,
						silent: this.#isVerl,
					});
				}
				await pause(tickMs);
			}
		} finally {
			end.abort();
			await following;
			await this.#stopping?.catch(() => undefined);
			await this.#mirror?.close();
			await this.#shadow.close();
		}
	}

	/** Removes files needed only while the run can continue. */
	async tidy(): Promise<void> {
		await rm(this.#shadow.folder, { recursive: true, force: true }).catch(() => undefined);
	}

	/** Stops the job immediately because this process is about to exit. */
	abandon(): void {
		if (this.#ray !== null) this.#options.api.stopBeforeExit(this.#ray.job);
	}

	/** Reattaches to a job that is still running after the driver was restarted. */
	async #findAgain(): Promise<boolean> {
		const { api, writer, resume } = this.#options;
		const ray = rayRecordOf(writer.record);
		if (!resume || ray === null) return false;
		if (ray.address !== api.cluster.address) return false;
		const job = await api.job(ray.job);
		if (job === null || isFinal(job.status)) return false;
		this.#found = true;
		this.#ray = ray;
		this.#request = { ...(await this.#prepare(ray.job, false)), submission_id: ray.job };
		await this.#event('info', `Reattached to job ${ray.job}, which is still running at ${ray.address}.`);
		await this.#reportJob(job.status.toLowerCase());
		return true;
	}

	async #submit(): Promise<void> {
		const { api, writer, resume, stopSignal } = this.#options;
		const before = rayRecordOf(writer.record);
		const submissions = (before?.submissions ?? 0) + 1;
		const job = submissions === 1 ? writer.record.id : `${writer.record.id}-${submissions}`;
		await offerPlace(this.#place);
		const request = await this.#prepare(job, resume && before !== null);
		this.#request = request;
		const ray: RayRecord = {
			address: api.cluster.address,
			job,
			submissions,
			folder: before?.folder ?? null,
			shared: null,
			attempt: before?.attempt ?? 0,
		};
		// Write this before submitting, so a driver started after a crash in between either finds the job or knows that
		// there is none.
		await this.#updateRay(ray);
		await submitJob(api, request, stopSignal);
		await this.#event('info', `Submitted job ${job} to ${ray.address}.`);
		await this.#reportJob('pending');
	}

	async #prepare(job: string, resume: boolean): Promise<JobRequest> {
		const { request, notes } = await prepareJob(
			{ ...this.#options, place: this.#place },
			job,
			resume,
			this.#options.stopSignal,
		);
		for (const note of this.#found ? [] : notes) await this.#event('info', note);
		return request;
	}

	async #takeLine(line: string): Promise<void> {
		const { writer } = this.#options;
		const frame = readFrame(line);
		if (frame !== null) return this.#takeFrame(frame);
		const text = stripVTControlCharacters(line).trimEnd();
		if (text !== '') writer.log(`job: ${text.slice(0, longestLine)}`);
	}

	async #takeFrame(frame: LogFrame): Promise<void> {
		if (frame.k === 'failed') {
			this.#failed = Failure.of(frame);
		} else if (frame.k === 'place') {
			await this.#takePlace(frame.folder, false);
		} else {
			await this.#shadow.apply(frame);
		}
	}

	/** Called when the run's location on the cluster is known. */
	async #takePlace(folder: string, shared: boolean): Promise<void> {
		const { api } = this.#options;
		const ray = this.#ray as RayRecord;
		if (this.#mirror !== null) return;
		this.#mirror = await this.#makeMirror(shared ? this.#place.run : this.#shadow.folder, shared);
		if (!this.#isVerl) {
			this.#control = shared
				? new FolderControl(this.#place.sidecar)
				: new RelayControl(api, this.#request as JobRequest, `${folder}.ray`);
		}
		const first = ray.folder === null;
		await this.#updateRay({ ...ray, folder, shared });
		if (!first) return;
		const where = shared ? 'and is mirrored here' : 'where its checkpoints remain; only the log is copied';
		await this.#event('info', `The run folder on the cluster is ${folder}, ${where}.`);
	}

	async #makeMirror(folder: string, shared: boolean): Promise<Mirror> {
		const { writer, recipe } = this.#options;
		if (!this.#isVerl) return new RunMirror(folder, writer, { checkpoints: shared, attempt: this.#ray?.attempt ?? 0 });
		const last = (await readMetricsEnd(writer.folder)).at(-1)?.step ?? -1;
		const stage = recipe.stages[0]?.type ?? 'grpo';
		return new VerlMirror(folder, writer, last, { temperature: recipe.evaluate.temperature, stage });
	}

	/**
	 * Synchronizes the run. Calls are serialized, so a poll from before a pause cannot overwrite the status from a later
	 * one.
	 */
	#sync(thorough: boolean): Promise<void> {
		return this.#syncs.queue(() => this.#takeNews(thorough));
	}

	async #takeNews(thorough: boolean): Promise<void> {
		const ray = this.#ray as RayRecord;
		if (this.#mirror === null && (await isShared(this.#place, ray.job))) await this.#takePlace(this.#place.run, true);
		const mirror = this.#mirror;
		if (mirror === null) return;
		const before = this.#record;
		const record = await mirror.sync(thorough);
		this.#record = record;
		if (mirror.attempt !== this.#ray?.attempt) {
			await this.#updateRay({ ...(this.#ray as RayRecord), attempt: mirror.attempt });
		}
		if (record !== null) await this.#reportStatus(record);
		if (record !== null && JSON.stringify(record) !== JSON.stringify(before)) this.#options.onChanged();
	}

	/** Updates the status and device from the known state of the job and the remote run. */
	async #reportSight(sight: JobSight | null): Promise<void> {
		const { quietMs = 5000 } = this.#options;
		if (sight?.kind === 'unreachable') {
			if (this.#unreachable || Date.now() - sight.since < quietMs) return;
			this.#unreachable = true;
			await this.#event(
				'warning',
				`${sight.failure.message} Retrying. If the cluster is up, the job is still running.`,
			);
			await this.#reportDevice(`ray (cluster not reached since ${new Date(sight.since).toISOString()})`, 'cluster');
			return;
		}
		if (this.#unreachable) {
			this.#unreachable = false;
			await this.#event('info', 'The Ray cluster is responding again.');
		}
		const record = this.#record;
		const status = sight?.kind === 'there' ? sight.job.status.toLowerCase() : 'running';
		if (record === null) return this.#reportJob(status);
		if (record.status === 'crashed') return this.#reportDevice('ray (restarting after a failure)', 'restart');
		await this.#reportDevice(`ray: ${record.device}`, record.wait);
	}

	/** Mirrors the paused or running status from the cluster. The final status is set when the job ends. */
	async #reportStatus({ status, pause: held }: MirroredRun): Promise<void> {
		const { writer } = this.#options;
		const shown = status === 'paused' ? 'paused' : 'running';
		if (writer.record.status === shown && JSON.stringify(writer.record.pause) === JSON.stringify(held)) return;
		await writer.updateRecord({ status: shown, pause: held });
	}

	#reportJob(status: string): Promise<void> {
		return this.#reportDevice(`ray (job ${status})`, status === 'pending' ? 'job' : 'loading');
	}

	async #reportDevice(device: string, wait?: EngineWaitKind): Promise<void> {
		if (device === this.#device) return;
		this.#device = device;
		const { writer, onChanged } = this.#options;
		const { status } = writer.record;
		await writer.updateRecord({ device, wait, status: status === 'paused' ? 'paused' : 'running' });
		onChanged();
	}

	/** Asks the run to stop, and stops the job if the run does not comply. */
	async #stopRemote(end: AbortSignal): Promise<void> {
		const { api, stopMs = 300_000 } = this.#options;
		const { job } = this.#ray as RayRecord;
		if (this.#control !== null && this.#record !== null) {
			try {
				const signal = AbortSignal.any([end, AbortSignal.timeout(stopMs)]);
				await this.#control.ask('run/stop', { checkpoint: true }, signal);
				return;
			} catch (error) {
				if (end.aborted) return;
				await this.#event('warning', `The run ended abnormally: ${Failure.from(error).message} Stopping its job.`);
			}
		}
		// Retry while the cluster is being polled. The loop ends when the job has ended.
		for (let rest = 1000; !end.aborted; rest = Math.min(rest * 2, 30_000)) {
			const done = await api.stop(job).then(
				() => true,
				(error: unknown) => Failure.from(error).reason !== 'unavailable',
			);
			if (done) return;
			await pause(rest, end);
		}
	}

	#outOfReach(): Failure {
		const { address, job } = this.#ray as RayRecord;
		return new Failure(
			'unavailable',
			`Cannot reach the Ray cluster at ${address} to stop job ${job}. If the cluster is up, the job is still running.`,
			'When the cluster is reachable again, resume the run to reattach to the job, then stop it.',
		);
	}

	#lost(): Failure {
		const { address, job } = this.#ray as RayRecord;
		return new Failure(
			'unavailable',
			`The Ray cluster at ${address} no longer knows job ${job}, because its head node was lost or restarted.`,
			'Resume the run from its newest checkpoint.',
		);
	}

	async #updateRay(ray: RayRecord): Promise<void> {
		this.#ray = ray;
		await this.#options.writer.updateRecord({ ray } as Partial<RunRecord>);
	}

	async #event(level: 'info' | 'warning', message: string): Promise<void> {
		await this.#options.writer.appendEvent({ type: 'alert', level, message, ...localEvent });
	}
}
