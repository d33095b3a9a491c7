import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reason } from '../../../../src/base/failure.ts';
import { explainFailure } from '../../../../src/environment/setup/installFailure.ts';
import { InstallMeter, readInstallLine } from '../../../../src/environment/setup/installOutput.ts';
import { withoutPasswords } from '../../../../src/environment/setup/setupLog.ts';

describe('progress output of installers', () => {
	it('is parsed for pip', () => {
		assert.deepEqual(readInstallLine('Collecting torch==2.13.0 (from -r base.txt (line 3))'), {
			...{ kind: 'resolving', item: 'torch' },
		});
		assert.deepEqual(readInstallLine('  Downloading torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl (899.8 MB)'), {
			...{ kind: 'downloading', item: 'torch', bytes: 899.8e6 },
		});
		assert.deepEqual(readInstallLine('  Using cached sympy-1.14.0-py3-none-any.whl (6.3 MB)'), {
			...{ kind: 'downloaded', item: 'sympy' },
		});
		assert.deepEqual(readInstallLine('Progress 262144 of 899800000'), {
			kind: 'part',
			done: 262_144,
			total: 899_800_000,
		});
		assert.deepEqual(readInstallLine('Installing collected packages: six, numpy, torch'), {
			...{ kind: 'installing', packages: 3 },
		});
		assert.equal(readInstallLine('  Downloading trl-1.13.0-py3-none-any.whl.metadata (11 kB)'), null);
		assert.equal(readInstallLine("WARNING: Location 'file:///x/' is ignored"), null);
	});

	it('is parsed for uv', () => {
		assert.deepEqual(readInstallLine('Downloading numpy (16.1MiB)'), {
			...{ kind: 'downloading', item: 'numpy', bytes: 16.1 * 2 ** 20 },
		});
		assert.deepEqual(readInstallLine(' Downloaded numpy'), { kind: 'downloaded', item: 'numpy' });
		assert.deepEqual(readInstallLine('Prepared 2 packages in 1.63s'), { kind: 'installing', packages: 2 });
		assert.equal(readInstallLine(' + numpy==2.4.6'), null);
	});

	it('yields a fraction that never decreases, however many files are downloaded in parallel', () => {
		const meter = new InstallMeter(1000e6);
		const shares: number[] = [];
		for (const line of [
			'Downloading torch (800MB)',
			'Downloading numpy (100MB)',
			' Downloaded numpy',
			' Downloaded torch',
			'Prepared 2 packages in 9s',
		]) {
			meter.take(line);
			shares.push(meter.fraction);
		}
		assert.deepEqual(
			shares.map((share) => Math.round(share * 100)),
			[0, 64, 72, 72, 85],
		);
		const pip = new InstallMeter(1000e6);
		pip.take('  Downloading torch-2.13.0-cp312.whl (800 MB)');
		assert.equal(pip.take('Progress 400000000 of 800000000'), 'downloading torch (400 MB of 800 MB)');
		assert.equal(Math.round(pip.fraction * 100), 32);
	});
});

describe('error output of installers', () => {
	const ended = { code: 1, signal: null };
	const cases: [reason: Reason, message: RegExp, text: string][] = [
		['full', /disk is full/, 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device'],
		['full', /disk is full/, 'error: failed to write: No space left on device (os error 28)'],
		[
			...(['unavailable', /is unreachable/] as const),
			"WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(Failed to establish a new connection: [Errno -2] Name or service not known)': /simple/torch/\nERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)\nERROR: No matching distribution found for torch==2.13.0",
		],
		[
			...(['unavailable', /is unreachable/] as const),
			'error: Failed to fetch: https://host/whl/cpu/torch/\n  cause: client error (Connect)\n  cause: dns error',
		],
		[
			...(['unavailable', /does not list idna/] as const),
			'Looking in indexes: http://host/simple\nERROR: Could not find a version that satisfies the requirement idna (from versions: none)\nERROR: No matching distribution found for idna',
		],
		[
			...(['unavailable', /certificate/] as const),
			"WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'",
		],
		[
			...(['denied', /user name and password/] as const),
			'error: No solution found when resolving dependencies\n  cause: Because idna was not found in the package registry\nhint: An index URL (http://host/simple) could not be queried due to a lack of valid authentication credentials (401 Unauthorized)',
		],
		[
			...(['unsupported', /does not have six==99 for this Python/] as const),
			'ERROR: Could not find a version that satisfies the requirement six==99 (from versions: 0.9.0, 1.17.0)\nERROR: No matching distribution found for six==99',
		],
		[
			...(['unsupported', /\(Because there is no version of six==99\.0 and you require six==99\.0\)/] as const),
			'error: No solution found when resolving dependencies\n  cause: Because there is no version of six==99.0 and you require six==99.0.',
		],
		[
			'corrupt',
			/was interrupted or damaged/,
			"ERROR: Wheel 'idna' located at /tmp/pip-unpack/idna-3.10-py3-none-any.whl is invalid.",
		],
		[
			'corrupt',
			/was interrupted or damaged/,
			'hint: The structure of `mdurl` (v0.1.2) was invalid:\n  Failed to read from zip file',
		],
		['corrupt', /does not match the hash/, 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.'],
		[
			'unsupported',
			/\(sentencepiece\)/,
			'  ERROR: Failed building wheel for sentencepiece\nerror: subprocess-exited-with-error',
		],
		[
			'missing',
			/ensurepip/,
			'The virtual environment was not created successfully because ensurepip is not available.',
		],
		['invalid', /argument/, "error: invalid value 'cu999' for '--torch-backend <TORCH_BACKEND>'"],
		['denied', /cannot write a file/, 'error: failed to create directory: Permission denied (os error 13)'],
		['internal', /failed with status 1: error: something else\.$/, 'Resolved 3 packages\nerror: something else\n'],
	];
	for (const [reason, message, text] of cases) {
		it(`is ${reason}: ${message.source}`, () => {
			const failure = explainFailure('Installing packages', text.split('\n'), ended);
			assert.equal(failure.reason, reason, failure.toString());
			assert.match(failure.message, message);
			assert.match(failure.message, /^Installing packages failed/);
			assert.ok(failure.action);
		});
	}

	it('may be empty', () => {
		assert.match(explainFailure('Installing torch', [], { code: 3, signal: null }).message, /failed with status 3\.$/);
		const killed = explainFailure('Installing torch', ['Collecting torch'], { code: null, signal: 'SIGKILL' });
		assert.match(killed.toString(), /killed by SIGKILL\. The machine may have run out of memory/);
	});

	it('is logged without passwords', () => {
		assert.equal(
			withoutPasswords('Looking in indexes: https://me:s3cr3t@host/simple, https://token@other/x'),
			'Looking in indexes: https://***@host/simple, https://***@other/x',
		);
	});
});
