import * as vscode from 'vscode';
import { Disposable } from '../../base/disposable.ts';
import { Failure } from '../../base/failure.ts';
import type { RewardEnvironment } from '../rewards/rewardEnvironment.ts';
import { RewardLog } from '../rewards/rewardLog.ts';
import { VerifierPool } from '../rewards/verifierPool.ts';
import { isEnvironmentUri } from './environmentFiles.ts';
import { EnvironmentMarks } from './environmentMarks.ts';
import { EnvironmentVerifications } from './environmentVerifications.ts';
import { newEnvironment, newEnvironmentAnswers } from './newEnvironment.ts';

/** All features for environment files that are not needed until one is open or a command runs. */
export class EnvironmentWorkbench extends Disposable {
	readonly verifications: EnvironmentVerifications;
	readonly #extension: vscode.Uri;

	constructor(extension: vscode.Uri, environment: RewardEnvironment) {
		super();
		this.#extension = extension;
		const pool = this.register(new VerifierPool(environment, vscode.Uri.joinPath(extension, 'dist').fsPath));
		const log = this.register(new RewardLog('Reasoning Lab Environments'));
		this.verifications = this.register(new EnvironmentVerifications(pool, log));
		this.register(new EnvironmentMarks(this.verifications));
		this.verifications.start();
	}

	newEnvironment(...args: unknown[]): Promise<vscode.Uri | undefined> {
		return newEnvironment(this.#extension, newEnvironmentAnswers(args[0]));
	}

	/** Verifies the given file, or the one in the active editor. */
	async verify(...args: unknown[]): Promise<void> {
		const [given] = args;
		const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
		if (uri === undefined || !isEnvironmentUri(uri)) {
			throw new Failure('invalid', 'No environment file is open.', 'Open a *.env.py or *.env.ts file, then try again.');
		}
		await this.verifications.session(uri.fsPath).verify();
	}
}
