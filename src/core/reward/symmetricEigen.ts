/** Eigenvalues in ascending order, with unit eigenvectors. */
export interface Eigen {
	readonly values: readonly number[];
	/** `vectors[i]` corresponds to `values[i]`. */
	readonly vectors: readonly (readonly number[])[];
}

/**
 * Computes the eigendecomposition of a small symmetric matrix by Jacobi rotations (Golub and Van Loan, Matrix
 * Computations, 8.5).
 */
export function symmetricEigen(matrix: readonly (readonly number[])[]): Eigen {
	const n = matrix.length;
	const a = matrix.map((row) => [...row]);
	const v = Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i === j)));
	const at = (m: number[][], i: number, j: number) => (m[i] as number[])[j] as number;
	const rotate = (m: number[][], p: number, q: number, c: number, s: number) => {
		for (const row of m) {
			const [x, y] = [row[p] as number, row[q] as number];
			row[p] = c * x - s * y;
			row[q] = s * x + c * y;
		}
	};
	for (let sweep = 0; sweep < 60; sweep++) {
		let off = 0;
		for (let p = 0; p < n; p++) {
			for (let q = p + 1; q < n; q++) {
				const apq = at(a, p, q);
				off += apq * apq;
				if (apq === 0) continue;
				const theta = (at(a, q, q) - at(a, p, p)) / (2 * apq);
				const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1));
				const c = 1 / Math.hypot(t, 1);
				const s = t * c;
				rotate(a, p, q, c, s);
				const [rp, rq] = [a[p] as number[], a[q] as number[]];
				for (let j = 0; j < n; j++) {
					const [x, y] = [rp[j] as number, rq[j] as number];
					rp[j] = c * x - s * y;
					rq[j] = s * x + c * y;
				}
				rotate(v, p, q, c, s);
			}
		}
		if (off === 0) break;
	}
	const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => at(a, i, i) - at(a, j, j));
	return {
		values: order.map((i) => at(a, i, i)),
		vectors: order.map((i) => v.map((row) => row[i] as number)),
	};
}
