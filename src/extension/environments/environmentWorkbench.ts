import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import { isServerAddress } from '../../core/episode/serverAddress.ts';
import type { RewardHosts } from '../../rewards/rewardHosts.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { RewardLog } from '../rewards/rewardLog.ts';
import { VerifierPool } from '../rewards/verifierPool.ts';
import { HostDebugger } from '../rewardTests/debugSession.ts';
import { isEnvironmentUri } from './environmentFiles.ts';
import { EnvironmentLenses } from './environmentLenses.ts';
import { environmentLimits } from './environmentLimits.ts';
import { chooseEnvironment, chooseSteppedEnvironment } from './environmentManifests.ts';
import { EnvironmentMarks } from './environmentMarks.ts';
import { EnvironmentVerifications } from './environmentVerifications.ts';
import { isEnvironmentManifest } from './manifestFiles.ts';
import { newEnvironment, newEnvironmentAnswers } from './newEnvironment.ts';

/** Features for environment files that are not needed until one is open or a command runs. */
export class EnvironmentWorkbench extends Disposable {
	readonly verifications: EnvironmentVerifications;
	readonly limits = environmentLimits;
	readonly debugger: HostDebugger;
	readonly #extension: vscode.Uri;
	readonly #pool: VerifierPool;

	constructor(extension: vscode.Uri, environment: RewardEnvironment) {
		super();
		this.#extension = extension;
		const programs = vscode.Uri.joinPath(extension, 'dist').fsPath;
		this.#pool = this.register(new VerifierPool(environment, programs));
		this.debugger = this.register(new HostDebugger(environment, programs));
		const log = this.register(new RewardLog('Reasoning Lab Environments'));
		this.verifications = this.register(new EnvironmentVerifications(this.#pool, log));
		this.register(new EnvironmentMarks(this.verifications));
		this.register(new EnvironmentLenses(this.verifications));
		this.verifications.start();
	}

	/** Returns the processes that run environments. Fails with `denied` in an untrusted workspace. */
	hosts(file: string, python?: string): Promise<RewardHosts> {
		return this.#pool.hosts(file, python);
	}

	newEnvironment(...args: unknown[]): Promise<vscode.Uri | undefined> {
		return newEnvironment(this.#extension, newEnvironmentAnswers(args[0]));
	}

	/** Verifies the given environment, the one in the active editor, or one selected by the user. */
	async verify(...args: unknown[]): Promise<void> {
		const uri = await verifiedEnvironment(args[0]);
		if (uri !== null) await this.verifications.session(uri.fsPath).verify();
	}
}

/**
 * Returns the environment to verify: the given one, the one in the active editor, or one selected by the user, whose
 * file is then shown with the result. Returns null if the user canceled.
 */
export async function verifiedEnvironment(given: unknown): Promise<vscode.Uri | null> {
	const active = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
	if (active !== undefined && (isEnvironmentUri(active) || (await isEnvironmentManifest(active.fsPath)))) return active;
	const uri = await chooseEnvironment();
	if (uri === undefined) return null;
	await vscode.window.showTextDocument(uri);
	return uri;
}

/**
 * Returns the environment to step through: the given file or manifest, the one in the active editor, or one selected by
 * the user, including a server by its address. Returns null if the user canceled.
 */
export async function steppedEnvironment(given: unknown): Promise<string | null> {
	if (typeof given === 'string' && isServerAddress(given)) return given;
	const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
	if (
		uri !== undefined &&
		(isEnvironmentUri(uri) || (uri.scheme === 'file' && (await isEnvironmentManifest(uri.fsPath))))
	) {
		return uri.fsPath;
	}
	return await chooseSteppedEnvironment();
}

/** Returns the path of the given environment file, or of the one in the active editor. Fails with `invalid`. */
export function environmentArgument(given: unknown): string {
	const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
	if (uri === undefined || !isEnvironmentUri(uri)) {
		throw new Failure('invalid', 'No environment file is open.', 'Open a *.env.py or *.env.ts file, then try again.');
	}
	return uri.fsPath;
}
