/** Doubles of which SQLite writes a neighbour, in fifteen digits, which it takes for the same, or in seventeen. */
export const ODD_DOUBLES: readonly number[] = [
  0.7647003753607859, 671386856994760100, -65439564904018904, -5.876066892914399e117, 8.681971120232349e106,
];
