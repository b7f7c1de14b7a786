"""The rules of schedule `default`: which one takes which program, on how many threads, and what
comes out at sizes that divide nothing, that are 1, and that are symbols."""

import json
import math
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from parts import in_sweep, in_turn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/emulate"))
import nvrtc  # noqa: E402

PROGRAMS = Path(__file__).with_name("rules.tir")
ITEMS = re.split(r"^(?=kernel |reducer )", PROGRAMS.read_text(), flags=re.M)
REDUCERS = "".join(item for item in ITEMS if item.startswith("reducer "))
TEXTS = {re.match(r"kernel (\w+)", item)[1]: item for item in ITEMS if item.startswith("kernel ")}
SMALL, LARGE = [2, 3, 5], 37

# The kernel, the rules in the order of the trace, and the fewest threads of its largest launch.
RULES = [
    ("row_sum", ["rows"], 40 * 32),
    ("matvec", ["rows"], 100 * 32),
    ("softmax", ["rows"], 40 * 32),
    ("layernorm", ["rows"], 40 * 32),
    ("welford", ["rows"], 40 * 32),
    ("argmax", ["rows"], 40 * 32),
    ("rmsnorm", ["rows"], 3 * 256),
    ("sum_all", ["parts"], 5 * 256),
    ("mean_square", ["parts"], 5 * 256),
    ("max_pool", ["threads", "small_rows"], 1440),
    ("conv2d", ["windows"], 2 * 2 * 256),
    ("upsampled", ["images"], 2 * 256),
    ("upsampled_tanh", ["sums", "elements", "images"], 2 * 256),
    ("few_channels_relu", ["windows"], 6 * 256),
    ("few_channels_in_passes", ["products", "elements", "three_passes", "elements"], 128 * 256),
    ("upsampled_pooled", ["sums", "elements", "images"], 2 * 256),
    ("statistics_of_channels", ["rows"], 66 * 256),
    ("sigmoid_of_softmax", ["elements", "columns"], 300),
    ("product_with_activation", ["elements"] * 3, 3 * 128),
    ("norm_declared_late", ["rows", "rows", "elements", "rows"], 40 * 32),
    ("masked_blocks", ["threads", "small_rows"], 22 * 256),
    ("mixture", ["threads", "small_rows"], 4 * 256),
    ("small_products", ["small_rows"], 64 * 256),
    ("sliding_mean", ["sliding"], 3 * 2 * 256),
    ("scan", ["scans"], 40 * 32),
    ("scan_columns", ["threads"], 100),
    ("scan_of_all", ["scan"], 3 * 128),
    ("sums_of_diagonal", ["scan"], 1),
    ("sums_of_one_number", ["parts"], 8 * 256),
    ("norm_of_lengths", ["ranges", "elements", "rows"], 5 * 20 * 32),
    ("layers_of_rows", ["products", "matmul", "matmul"], 2 * 128),
    ("norm_of_layer", ["products", "rows", "matmul", "rows"], 4 * 128),
    ("chosen_of_layer", ["products", "tensor_cores", "threads"], 2 * 128),
    ("bias_and_scatter", ["threads", "small_rows"], 21),
    ("as_many_as_data_say", ["ranges", "elements", "elements"], 256),
    ("rows_at_one_place", ["threads"], 33),
    ("product_used_twice", ["tensor_cores", "elements", "tiles"], 128),
    ("sums_of_lengths_in_triangle", ["ranges", "elements", "threads"], 25),
    ("loss_of_lengths", ["ranges", "apart", "parts", "parts"], 2 * 256),
    ("mean_loss_of_lengths", ["ranges", "apart", "apart", "parts", "parts", "rows"], 38 * 256),
    ("log_softmax_of_bf16", ["rows"], 40 * 32),
    ("gradient_of_weights", ["threads"], 1152),
    ("sampled_classes", ["rows", *2 * ["scan_sums"], "scans"], 40 * 32),
    ("updates_of_one_row", ["packed", "copies"], 1056 * 256),
    ("means_of_few_ranges", [*2 * ["packed"], "threads", "columns", "rows", "columns"], 250 * 512),
    ("neighbours_of_rows", ["row_elements", "elements"], 29 * 256),
    ("columns_of_lengths", ["ranges", "columns"], 2 * 256),
    ("scan_of_lengths", ["ranges", "ranges", "scans"], 5 * 32),
    ("first_rows", ["ranges", "ranges", "sums", "elements", "rows", "elements"], 5 * 256),
    ("scan_of_first", [*3 * ["ranges"], "guarded", "scan", "parts", "elements"], 256),
    ("count_of_first", ["ranges", "scatters", "elements"], 256),
    ("reverse_of_lengths", ["ranges", "ranges", "apart", "elements", "elements"], 13 * 128),
    ("nests_of_few", ["apart", "threads", "elements"], 6 * 256),
    ("steps_of_lengths", ["ranges", "ranges", "batch"], 5 * 64),
    ("causal_rows_of_lengths", ["rows"], 5 * 40 * 32),
    ("norms_of_packed", ["packed", "batch"], 699 * 96),
    ("places_of_packed", ["packed", "elements", "elements", "threads"], 3 * 256),
    ("differences_of_packed", ["elements", "packed", "batch"], 1200 * 192),
    ("softmax_of_packed", ["rows"], 4 * 32),
    ("relaxations", ["scatters", "elements", "elements", "elements"], 128),
    ("scans_of_neighbours", ["recurrence", "threads", "small_rows"], 40),
    ("scan_stored_twice", ["scans"], 3 * 256),
    ("two_scans", ["scans"], 3 * 256),
    ("scan_of_pairs", ["scans"], 3 * 256),
    ("pairs_of_all", ["scan"], 3 * 256),
    ("recurrence_of_rows", ["rows"], 3 * 256),
    ("end_of_recurrence", ["parts"], 3 * 256),
    ("scan_of_many", ["scan"], 2 * 256),
    ("compacted", ["counts", "scan", "elements"], 5 * 128),
    ("compacted_places", ["counts", "scan", "elements", "threads"], 9 * 256),
    ("parted", ["counts", "counts", "scan", "scan"], 256),
    ("runs_of_numbers", ["counts", "scan", "elements"], 3 * 256),
    ("compacted_rows", ["counts", "scans"], 3 * 256),
    ("sides", ["counts", "scan", "scan", "elements"], 3 * 256),
    ("parted_places", ["counts", "counts", "scan", "threads", "threads"], 12 * 256),
    ("lists_of_rows", ["counts", "scan", "elements", "rows", "scans"], 70 * 32),
    ("ranks_by_key", ["keys", "elements", "elements", "threads"], 4 * 256),
    ("last_by_key", ["keys"] + 2 * ["elements", "threads", "small_rows"], 3 * 256),
    ("sums_by_key", ["keys", "small_rows", "elements", "elements", "threads"], 3 * 256),
    ("ranks_of_samples", ["keys", "small_rows", "elements", "threads"], 2 * 256),
    ("ranks_of_steps", ["keys", "elements", "scans"], 6 * 256),
    ("ranks_by_label", ["picked", "elements", "elements", "threads"], 4 * 256),
    ("sorted_by_key", ["keys", "elements", "threads", "small_rows"], 3 * 256),
    (
        "rows_by_key",
        ["keys", "elements", "elements", "elements", "threads", "small_rows", "threads"],
        3 * 256,
    ),
    ("recurrence", ["recurrence", "scan"], 3 * 256),
    ("recurrence_of_choices", ["recurrence", "scan"], 3 * 128),
    ("recurrence_of_branches", ["recurrence", "scan"], 3 * 128),
    ("linear_rows", ["linear", "scans"], 3 * 256),
    ("linear_anew", ["linear", "scans"], 40 * 32),
    ("linear_runs", ["linear", "scan"], 3 * 128),
    ("linear_held", ["linear", "scans"], 3 * 256),
    ("linear_of_elements", ["linear", "scans"], 40 * 32),
    ("linear_downwards", ["linear", "scans"], 40 * 32),
    ("linear_of_all", ["linear", "scan", "elements"], 3 * 128),
    ("linear_integers", ["linear", "scan", "elements"], 3 * 128),
    ("linear_columns", ["threads"], 300),
    ("linear_cascade", ["ordered"], 3),
    ("linear_states", ["ordered"], 3),
    ("linear_ends", ["ordered"], 3),
    ("linear_beside_others", ["threads"], 3),
    ("search_rows", ["guarded", "rows"], 40 * 32),
    ("search_columns", ["guarded", "long_sums", "columns"], 38 * 256),
    ("search_all", ["guarded", "parts"], 18 * 256),
    ("search_both", ["guarded", "guarded", "apart", "parts", "parts"], 18 * 256),
    ("search_pairs", ["guarded", "parts"], 2048 * 256),
    ("search_planes", ["guarded", "rows"], 4 * 32),
    ("search_neighbours", ["guarded", "rows"], 75 * 128),
    ("search_states", ["guarded", "steps", "threads", "elements"], 300),
    ("search_rounds", ["guarded", "steps", "parts", "elements"], 35 * 256),
    ("search_queries", ["guarded", "long_sums", "threads", "small_rows", "rows"], 512 * 256),
    ("search_downwards", ["guarded", "long_sums", "ordered"], 20 * 32),
    ("search_match", ["guarded", "rows"], 40 * 32),
    ("search_short", ["threads", "small_rows"], 40),
    ("search_many", ["threads"], 33000),
    ("ordered_rows", ["ordered"], 40),
    ("ordered_downwards", ["ordered"], 40),
    ("second_order", ["ordered"], 40),
    ("differences", ["elements"], 4000),
    ("unfolded", ["elements"], 1125),
    ("relu", ["elements"], 1024),
    ("bias", ["elements"], 1536),
    ("by_columns", ["elements"], 1536),
    ("halves", ["elements"], 768),
    ("transposed", ["tiles"], 12 * 256),
    ("permuted", ["tiles"], 30 * 256),
    ("embedding", ["elements"], 1024),
    ("named_row", ["elements"], 1024),
    ("swapped", ["elements"], 1024),
    ("softmax_of_rows", ["elements", "rows"], 40 * 32),
    ("norm_of_sums", ["elements", "rows"], 40 * 32),
    ("steps_of_three", ["elements"] * 13, 700),
    ("softmax_in_three_loops", ["elements", "rows"], 40 * 32),
    ("softmax_nests", ["rows"] * 3, 40 * 32),
    ("norm_by_nests", ["rows"] * 4, 40 * 32),
    ("sums_of_two", ["rows", "rows", "tiles"], 40 * 32),
    ("column_sum", ["columns"], 12 * 256),
    ("middle_max", ["columns"], 7 * 256),
    ("moments_of_rows", ["rows"], 100 * 32),
    ("moments_of_columns", ["columns", "columns"], 12 * 256),
    ("few_columns", ["columns"], 256),
    ("deep_tuple", ["rows"], 700 * 32),
    ("three_results", ["elements"], 1024),
    ("nn", ["matmul"], 6 * 128),
    ("nt_bias", ["matmul"], 6 * 128),
    ("tn", ["matmul"], 6 * 128),
    ("bf16_nn", ["tensor_cores"], 4 * 32),
    ("f16_tt_bias", ["tensor_cores"], 4 * 32),
    ("f16_nt_bias", ["tensor_cores"], 2 * 6 * 128),
    ("bf16_nn_batched", ["tensor_cores"], 3 * 4 * 128),
    ("bf16_tn_wide", ["tensor_cores"], 2 * 3 * 128),
    ("bf16_few_rows", ["tensor_cores"], 2 * 2 * 128),
    ("bf16_one_row", ["columns"], 3 * 16 * 256),
    ("f16_nt_few_columns", ["tensor_cores"], 2 * 2 * 2 * 128),
    ("f16_tt_batched", ["tensor_cores"], 2 * 4 * 128),
    ("u8_nt_wide", ["tensor_cores"], 2 * 3 * 128),
    ("u8_nt", ["tensor_cores"], 4 * 32),
    ("f64_tn_batched", ["tensor_cores"], 12 * 64),
    ("i8_nn", ["threads", "small_rows"], 6300),
    ("batched", ["matmul"], 18 * 128),
    ("heads", ["matmul"], 12 * 128),
    ("chain", ["matmul", "matmul"], 128),
    ("gram", ["contraction"], 128),
    ("leaky", ["elements"], 1024),
    ("in_place", ["elements"], 512),
    ("tensor_times", ["contraction"], 3 * 3 * 128),
    ("lower_triangle", ["triangle"], 4 * 256),
    ("upper_triangle", ["triangle"], 4 * 256),
    ("many_channels", ["contraction", "elements"], 2 * 32),
    ("images_by_taps", ["convolution"], 4 * 128),
    ("planes_by_taps", ["convolution"], 2 * 128),
    ("inner_points", ["convolution"], 4 * 128),
    ("strided_images", ["convolution"], 2 * 128),
    ("dilated_images", ["convolution"], 2 * 128),
    ("one_tap_of_planes", ["convolution"], 2 * 128),
    ("bytes_to_floats", ["elements"], 1000),
    ("reversed_axes", ["tiles"], 1000),
    ("histogram", ["scatters", "elements"], 288),
    ("sums_in_any_order", ["scatters", "elements"], 288),
    ("one_count", ["elements"], 100),
    ("counts_of_rows", ["scatters", "elements"], 288),
    ("sums_by_index", ["copies", "elements"], 2 * 5 * 256),
    ("weights_by_index", ["counts", "copies", "copies", "elements"], 256),
    ("sums_of_samples", ["copies"], 3 * 256),
    ("sums_of_heads", ["copies", "elements"], 2 * 256),
    (
        "sums_of_edges",
        ["sorted", "small_rows", "small_rows", "scatters", "scan"]
        + 3 * ["elements"]
        + ["rows", "threads", "threads", "threads", "elements"]
        + ["rows", "threads", "threads", "threads"],
        5000 * 3,
    ),
    (
        "damped_stores",
        ["sorted", "small_rows", "scatters", "scan"]
        + 4 * ["elements"]
        + ["rows"]
        + 3 * ["threads"],
        3000,
    ),
    ("scan_in_steps", ["steps", "scan", "elements"], 2 * 256),
    ("weights_of_lists", ["steps", "copies", "elements", "elements"], 256),
    ("floats_and_halves", ["elements"], 1024),
    ("memory_of_threads", ["threads"], 300),
    ("memory_of_launches", ["parts", "elements"], 512),
    ("scaled_rows", ["packed", "threads"], 3500),
    ("segment_softmax", ["threads"], 700),
    ("rows_of_groups", ["packed", "elements", "batch"], 70 * 32),
    ("halves_of_groups", ["groups", "elements"], 3 * 2 * 128),
    ("doubles_of_groups", ["groups"], 2 * 2 * 32),
    ("placed", ["threads"], 700),
    ("halves_of_rows", ["packed", "threads"], 700),
    ("half_softmax", ["rows"], 3 * 32),
    ("kept_rows", ["rows", "elements", "rows", "elements"], 5 * 13000 / 4),
    ("kept_steps", ["elements", "elements"], 33000 / 4),
    ("half_columns", ["columns", "columns"], 9 * 2 * 256),
    ("image_norm", ["rows"], 3 * 256),
    ("column_product", ["rows"], 40 * 32),
    ("swish_between", ["elements"], 750),
    ("unit_columns", ["columns"], 300),
    ("neighbours", ["elements"], 3 * 64),
    ("neighbours_of_planes", ["elements"], 3 * 3 * 64),
    ("neighbours_of_cells", ["elements"], 2 * 256),
    ("life_of_cells", ["elements"], 2 * 256),
    ("clamped_cells", ["elements"], 2 * 256),
    ("wrapped_planes", ["elements"], 2 * 256),
    ("wrapped_odd_rows", ["elements"], 256),
    ("wrapped_line", ["elements"], 250),
    ("chosen_ends", ["elements"], 2 * 256),
    ("differences_of_columns", ["elements"], 2 * 256),
    ("clamped_sums", ["neighbourhoods"], 256),
    ("sums_of_patches", ["neighbourhoods"], 2 * 256),
    ("filtered_twice", ["neighbourhoods"], 2 * 256),
    ("padded_channels", ["neighbourhoods"], 2 * 2 * 256),
    ("projected_heads", ["joined"], 12 * 128),
    ("scores", ["joined"], 24 * 128),
    ("experts", ["joined"], 6 * 128),
    ("experts_of_columns", ["contraction"], 15 * 128),
    ("sums_of_each", ["products", "products", "elements", "tensor_cores"], 2 * 32),
    ("sums_by_rows", ["products"] * 3 + ["matmul", "matmul", "elements", "elements"], 6 * 128),
    ("packed_rows", ["rows"], 40 * 32),
    ("continued_total", ["sums", "parts"], 2 * 256),
    (
        "rows_and_columns",
        ["sums", "sums", "elements", "rows", "threads", "elements", "columns", "elements"],
        40 * 32,
    ),
    ("gated", ["products", "tensor_cores", "tensor_cores"], 2 * 32),
    ("attention", ["attention"], 2 * 128),
    ("causal_attention", ["attention"], 2 * 2 * 128),
    ("window_attention", ["attention"], 2 * 2 * 128),
    ("attention_in_steps", ["attention"], 2 * 2 * 128),
    ("attention_in_place", ["attention"], 2 * 2 * 128),
    ("capped_scores", ["attention"], 2 * 128),
    ("attention_of_lengths", ["attention"], 2 * 128),
    ("heads_of_groups", ["attention"], 2 * 2 * 128),
    ("keys_in_use", ["attention"], 128),
    ("attention_of_few_columns", ["attention"], 128),
    ("attention_of_sequences", ["attention", "elements"], 18 * 256),
    ("causal_sequences", ["attention", "elements"], 18 * 256),
    ("pairs_of_sequences", ["attention", "elements"], 3 * 256),
    ("sequences_of_floats", ["attention"], 18 * 128),
    ("attention_of_two_lengths", ["ranges", "attention", "elements"], 2 * 128),
    ("attention_of_floats", ["attention"], 2 * 2 * 128),
    ("floats_of_lengths", ["attention"], 3 * 2 * 128),
    ("floats_in_windows", ["attention"], 2 * 3 * 128),
    ("products_of_lengths", ["triangle"], 3 * 2 * 2 * 256),
    ("last_terms", ["triangle"], 2 * 2 * 256),
    ("rows_of_lengths", ["threads"], 36 * 256),
    ("floats_of_one_head", ["attention"], 2 * 128),
    (
        "attention_of_wide_floats",
        ["attention", "products", *3 * ["rows"], "elements", "matmul", "triangle", "rows"]
        + 2 * ["elements"],
        32 * 256,
    ),
    ("attention_of_rows", ["attention"], 2 * 128),
    ("grouped_queries", ["attention"], 3 * 2 * 128),
    ("queries_of_groups", ["attention"], 2 * 2 * 128),
    (
        "attention_with_weights",
        ["products", *4 * ["rows"], "elements", "tensor_cores", "tensor_cores", "rows"],
        2 * 128,
    ),
    ("weights_of_groups", ["products", "products", "held"], 8 * 2 * 128),
    ("weights_in_words", ["products", "products", "held"], 8 * 128),
    ("weights_in_bytes", ["products", "products", "held"], 8 * 2 * 128),
    ("weights_across", ["products", "products", "tensor_cores", "elements"], 27 * 256),
    ("weights_down", ["products", "products", "held"], 8 * 2 * 128),
    ("words_along", ["products", "products", "held"], 8 * 2 * 128),
    ("words_across", ["products", "products", "held"], 8 * 2 * 128),
    ("stored_weights", ["held"], 8 * 2 * 128),
    ("whole_weights", ["products", "tensor_cores", "elements"], 35 * 256),
    ("unrounded_weights", ["threads", "small_rows"], 1400),
    ("stored_few_rows", ["products", "tensor_cores"], 2 * 128),
    ("few_queries", ["tensor_cores"], 2 * 2 * 128),
    ("rounded_factors", ["products", "tensor_cores", "elements"], 2 * 128),
    ("rows_of_halves", ["rows"], 40 * 16),
    ("row_of_pairs", ["rows"], 5 * 32),
    ("recurrent_layer", ["steps", "contraction", "elements"], 128),
    ("moving_mean", ["taps", "elements"], 17000),
    ("weights_of_nibbles", ["rows"], 3 * 256),
    ("interaction", ["elements", "rows"], 5 * 7 * 7 * 32),
    ("gated_layer", ["steps", "terms"], 80 * 128),
    ("power_method", ["steps", "parts", "rows", "elements", "elements"], 384 * 32),
    ("likeliest_path", ["batch"], 4 * 64),
    ("forward_of_states", ["batch"], 3 * 64),
    ("layer_of_sequences", ["batch"], 3 * 32 * 32),
    ("factors_of_matrices", ["batch"], 3 * 20 * 32),
    ("relaxed_in_order", ["batch"], 3 * 32),
    ("sorted_by_pairs", ["batch"], 3 * 35),
    ("heat_of_plates", ["batch"], 2 * 1024),
    ("centers_of_points", ["batch"], 2 * 5 * 32),
    ("path_of_one", ["batch", "elements"], 100),
    ("steps_of_fours", ["threads", "small_rows"], 300),
    ("value_before_row", ["batch"], 32),
    ("sum_behind_steps", ["batch"], 3 * 40),
    ("degrees", ["apart", "scatters", "scatters", "elements"], 32),
    ("border_of_grid", ["apart", "elements", "threads", "threads", "elements", "elements"], 75),
    ("centers_by_label", ["picked", "scatters", "copies", "threads"], 2 * 256),
    ("residual_of_elements", ["steps", "apart", "parts", "elements", "elements"], 2000 / 4),
    ("close_pairs", ["sums", "sums", "apart", "parts", "parts", "rows"], 70 * 32),
    ("paths", ["apart", "parts", "threads"], 600),
    ("sums_of_groups", ["apart", "scatters", "copies", "threads"], 2 * 256),
    ("ranks", ["apart", "elements", "threads"], 300),
    ("down_columns", ["threads"], 400),
    ("edit_distance", ["apart", "wavefront", "elements", "threads"], 40),
    ("affine_gaps", ["wavefront", "elements"], 3 * 20),
    ("in_place_sweeps", ["wavefront"], 18),
    ("shortest_paths", ["pivots"], 24 * 32),
    ("paths_of_graphs", ["wavefront"], 3 * 20),
    ("scores_of_pairs", ["wavefront"], 6 * 15),
    ("inner_averages", ["elements"], 2 * 256),
    ("short_nn", ["short_sides"], 16 * 256),
    ("short_nt", ["short_sides"], 12 * 128),
    ("short_tt", ["short_sides"], 22 * 256),
    ("short_bytes", ["short_sides"], 9 * 256),
    ("turned_vector", ["short_sides"], 13 * 256),
    ("short_stored", ["long_sums", "short_sides"], 17 * 256),
    ("short_alone", ["long_sums", "short_sides", "elements"], 700 * 256),
    ("lengths_stored", ["long_sums", "rows"], 3 * 8 * 256),
    ("distances", ["products", "contraction"], 2 * 128),
    ("least_sums", ["contraction"], 2 * 128),
    ("pairs_of_rows", ["contraction"], 4 * 128),
    ("paths_of_two_steps", ["products", "contraction"], 2 * 128),
    ("equal_columns", ["contraction"], 2 * 128),
    ("distances_of_halves", ["contraction"], 2 * 128),
    ("powers_of_differences", ["threads"], 8 * 256),
    ("weights_of_distances", ["products", "contraction", "rows"], 40 * 32),
    ("complex_planes", ["terms"], 6 * 128),
    ("complex_numbers", ["terms"], 6 * 128),
    ("complex_batches", ["terms"], 6 * 128),
    ("weighted_products", ["terms"], 6 * 128),
    ("weighted_distances", ["terms"], 6 * 128),
    ("gated_sums", ["terms"], 4 * 128),
    ("statistics_of_pairs", ["terms"], 2 * 256),
    ("complex_sizes", ["terms", "terms", "elements"], 4 * 128),
    ("vectors", ["terms"], 6 * 128),
    ("smoothed", ["terms"], 3 * 128),
    ("softened", ["terms"], 6 * 128),
    ("forces", ["bodies"], 10 * 128),
    ("forces_of_systems", ["bodies"], 3 * 9 * 128),
    ("packed_forces", ["bodies"], 10 * 128),
    ("potential", ["bodies"], 3 * 256),
    ("correlation", ["taps"], 128 * 128),
    ("convolved_rows", ["taps"], 129 * 128),
    ("correlated_channels", ["taps"], 129 * 128),
    ("mean_of_columns", ["long_sums", "columns"], 7 * 256),
    ("norm_of_columns", ["long_sums", "columns", "elements"], 7 * 256),
    ("softmax_of_columns", ["long_sums", "columns", "columns", "elements"], 7 * 256),
    ("scaled_product", ["products"] * 3 + ["elements", "matmul", "elements"], 18 * 256),
    (
        "triangle_of_rows",
        ["products", "products", "elements", "contraction"] + ["elements"] * 2,
        44 * 256,
    ),
    ("pairs_of_columns", ["products", "contraction"] + ["elements"] * 3 + ["threads"], 77 * 256),
    ("alignments", ["wavefront", "elements", "threads", "rows"], 5 * 256),
    ("spectra", ["terms", "terms", "elements"], 10 * 256),
    ("swapped_rows", ["threads"], 900),
    (
        "pairs_beside_diagonal",
        ["products", "contraction", "elements", "threads", "threads"],
        76 * 256,
    ),
    ("rows_from_far", ["products", "contraction"], 15 * 128),
    ("inner_product", ["products", "contraction", "elements"], 10 * 256),
    (
        "two_products",
        ["products", "products", "elements", "terms", "elements", "elements"],
        20 * 256,
    ),
    ("row_of_products", ["temporaries"] * 2 + ["products", "contraction", "elements"], 256),
    ("numbers_of_rows", ["temporaries", "rows"], 40 * 32),
    ("numbers_by_branches", ["temporaries", "threads"], 300),
    ("number_of_products", ["temporaries"] * 2 + ["products", "matmul"], 256),
    ("long_row_of_all", ["temporaries", "threads", "elements"], 3 * 13000),
    ("covariances", ["terms", "columns"], 4 * 128),
    ("covariances_of_pairs", ["products", "terms", "elements", "columns", "threads"], 67 * 256),
    ("tensor_times_matrices", ["terms"], 5 * 128),
    ("tensor_of_few_rows", ["long_sums"], 2 * 256),
    ("complex_of_few", ["terms"], 3 * 128),
    ("smoothed_few", ["terms"], 2 * 128),
    ("near_densities", ["long_sums"], 2 * 256),
    ("halves_of_bytes", ["updates", "rows"], 40 * 32),
    ("halves_with_scales", ["updates", "rows"], 40 * 32),
    ("centred_of_digits", ["terms"], 3 * 5 * 128),
    ("running_of_two", ["updates", "scans"], 3 * 256),
    ("paths_of_many", ["pivots"], 131 * 160),
    ("closure", ["pivots"], 150 * 160),
    ("gauss_jordan", ["batch"], 1024),
    ("halved_ranges", ["ranges", "threads"], 256),
    ("rows_of_pairs", ["batch", "elements"], 40 * 64),
    ("few_pivots", ["elements", "batch"], 400 * 512),
    ("lu_in_place", ["factorization", "batch"], 1024),
    ("cholesky_in_place", ["factorization", "batch"], 1024),
    ("cholesky_of_many", ["factorization", "batch"], 6 * 512),
    ("solve_lower", ["batch"], 32),
    ("solve_unit", ["batch"], 32),
    ("solve_upper", ["batch"], 32),
    ("solve_many", ["batch"], 50 * 32),
    ("lu_in_blocks", ["factorization", "blocked"], 1024),
    ("lu_by_steps", ["blocked"], 1024),
    ("cholesky_in_blocks", ["factorization", "blocked"], 1024),
    ("solve_rows_in_blocks", ["solve", "blocked"], 3 * 2 * 128),
    ("solve_columns_in_blocks", ["solve", "blocked"], 3 * 2 * 128),
    ("solve_vector_in_blocks", ["solve", "elements"], 34 * 256),
    ("triangular_product", ["earlier", "elements", "threads"], 8 * 256),
    (
        "triangular_tiles",
        ["earlier", "triangles", "triangle", "elements", "elements", "elements"],
        3 * 2 * 256,
    ),
    ("gated_norm", ["elements", "elements", "threads"], 256),
    ("sum_of_pools", ["rows", "rows"], 6 * 256),
    ("pooled_norm", ["elements", "rows", "threads", "small_rows"], 23 * 256),
]


# Programs of which a verified run takes a third of a second or more. The default run looks only at
# which rule takes them, and at their results at sizes of 1; of another one like them at all
# results.
DEAR = {
    "lu_in_blocks",
    "lu_by_steps",
    "cholesky_in_blocks",
    "f16_nt_bias",
    "bf16_nn_batched",
    "bf16_tn_wide",
    "bf16_few_rows",
    "bf16_one_row",
    "f16_nt_few_columns",
    "f16_tt_batched",
    "u8_nt_wide",
    "f64_tn_batched",
    "batched",
    "tensor_times",
    "experts_of_columns",
    "upper_triangle",
    "halves_of_groups",
    "images_by_taps",
    "planes_by_taps",
    "inner_points",
    "strided_images",
    "dilated_images",
    "projected_heads",
    "scores",
    "heads",
    "attention_in_steps",
    "attention_in_place",
    "attention_of_floats",
    "attention_of_wide_floats",
    "attention_of_rows",
    "capped_scores",
    "attention_of_lengths",
    "attention_of_two_lengths",
    "attention_of_sequences",
    "causal_sequences",
    "pairs_of_sequences",
    "sequences_of_floats",
    "keys_in_use",
    "attention_of_few_columns",
    "heads_of_groups",
    "attention_with_weights",
    "causal_attention",
    "queries_of_groups",
    "grouped_queries",
    "weights_of_groups",
    "weights_in_words",
    "weights_in_bytes",
    "weights_down",
    "words_along",
    "words_across",
    "stored_weights",
    "stored_few_rows",
    "pairs_of_columns",
    "pairs_beside_diagonal",
    "two_products",
    "attention",
    "window_attention",
    "short_alone",
    "vectors",
    "search_pairs",
    "search_neighbours",
    "forces_of_systems",
    "rounded_factors",
    "correlated_channels",
    "few_channels_in_passes",
    "gated_layer",
    "statistics_of_channels",
    "covariances_of_pairs",
    "solve_rows_in_blocks",
}


def sizes_of(kernel):
    """The sizes of a kernel, in their order."""
    header = re.match(rf"kernel {kernel}<([^>]*)>", TEXTS[kernel])
    return re.findall(r"(\w+) = \d+", header[1])


def tirc(program, *options):
    """Of PROGRAMS only the kernel that the options name is given: to read all of them takes as long
    as to compile a small one."""
    text = None
    if program == PROGRAMS:
        program, text = "-", REDUCERS + TEXTS[options[options.index("--kernel") + 1]]
    command = [os.environ["TIRC"], program, *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=100)


def run(kernel, *options, program=PROGRAMS, warnings=("--werror",)):
    """The trace and the report of a verified run."""
    asked = ["--kernel", kernel, "--trace", *warnings]
    asked += ["--schedule", "default"]  # also where the program has blocks
    done = tirc(program, *asked, "--verify", "--json", "--device", "sim", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout.startswith("{"):  # no step
        return "", json.loads(done.stdout)
    trace, report = done.stdout.split("\n}\n", 1)
    return trace, json.loads(report)


def threads(report):
    """The threads of the largest launch."""
    counts = [1]
    for launch in report["launches"]:
        x, y, z = launch["grid"]
        tx, ty, tz = launch["block"]
        counts.append(x * y * z * tx * ty * tz)
    return max(counts)


def rules_of(trace):
    return re.findall(r"^    // (?!refused)(\w+): ", trace, re.M)


@pytest.mark.parametrize("kernel, rules", [row[:2] for row in RULES if row[0] in DEAR])
def test_rule_alone(kernel, rules):
    assert rules_of(emit(PROGRAMS, "--kernel", kernel, "--trace")) == rules


@pytest.mark.parametrize("kernel, rules, fewest", [
    pytest.param(*row, marks=[pytest.mark.sweep] if row[0] in DEAR else [], id=row[0])
    for row in RULES
])  # fmt: skip
def test_rule(kernel, rules, fewest):
    trace, report = run(kernel)
    assert rules_of(trace) == rules, trace
    assert report["verify"]["ok"] and threads(report) >= fewest


@pytest.mark.parametrize("keys, steps", [(1, 512), (9, 513), (1009, 700), (64, 1031), (7, 511)])
def test_chunks_of_keys_of_any_number(keys, steps):
    """Keys are one, or more than iterations, and those do not divide into chunks."""
    for kernel in ("ranks_by_key", "ranks_by_label"):
        report = run(kernel, f"-DT={steps}", f"-DE={keys}", "--no-warn", warnings=[])[1]
        assert report["verify"]["ok"]
        assert (threads(report) >= 256) and (len(report["launches"]) == 5) == (steps >= 512)


def test_what_lowering_refuses_goes_another_way():
    trace, report = run("halved_ranges", "-DK=?", "--size", "K=31", "--no-warn", warnings=[])
    assert "ranges" not in rules_of(trace) and report["verify"]["ok"]


def test_stores_at_many_places_of_keys_are_sorted():
    trace, report = run("sorted_by_key", "-DN=33000", "--no-warn", warnings=[])
    assert report["verify"]["ok"] and "sorted" in rules_of(trace) and threads(report) >= 33000


def test_scans_copy_rows_not_squares():
    text = emit(PROGRAMS, "--kernel", "sums_of_diagonal", "--schedule", "default")
    assert "x_shared" in text and "d_shared" not in text


@pytest.mark.parametrize("numbers", ["0.6..1", "-1..0.4", "0.4..0.6"])
@pytest.mark.parametrize("size", [1, 37, 16403])
@pytest.mark.parametrize("kernel", ["compacted", "parted", "compacted_rows", "sides"])
def test_counts_of_all_of_none_and_of_some(kernel, size, numbers):
    _, report = run(kernel, f"-DN={size}", "--range", f"x={numbers}", "--no-warn")
    assert report["verify"]["ok"]


@pytest.mark.parametrize("numbers", ["0.6..1", "0..0.4", "0.4..0.6"])
@pytest.mark.parametrize("rows, columns", [(1, 1), (1, 5003), (37, 1), (5, 131)])
def test_lists_of_full_empty_and_other_rows(rows, columns, numbers):
    sizes = [f"-DM={rows}", f"-DN={columns}"]
    _, report = run("lists_of_rows", *sizes, "--range", f"a={numbers}", "--no-warn")
    assert report["verify"]["ok"]


@pytest.mark.parametrize("numbers", ["0..1", "0..1500000000"])
def test_runs_of_one_number_and_of_few(numbers):
    _, report = run("runs_of_numbers", "--range", f"x={numbers}")
    assert report["verify"]["ok"]


# Programs whose stores may meet run as they are written.
@pytest.mark.parametrize("before, after", [
    ("x[i] > 0.5 {", "x[i] >= 0.5 {"),
    ("count += 1;", "count += i32(x[i]);"),
    ("y[count] = x[i];", "y[count / 2] = x[i];"),
    ("count += 1;\n", "count += 1;\n            count min= 9;\n"),
])  # fmt: skip
def test_stores_that_may_meet_stay_in_order(before, after, tmp_path):
    text = TEXTS["compacted"]
    head, tail = text.split("        if x[i] > 0.5 {")
    if before.startswith("x["):
        tail = tail.replace("count += 1;", "if x[i] > 0.5\n                count += 1;")
    changed = ("        if x[i] > 0.5 {" + tail).replace(before, after)
    assert changed != "        if x[i] > 0.5 {" + tail
    program = tmp_path / "changed.tir"
    program.write_text(head + changed)
    trace, report = run("compacted", "-DN=1009", "--no-warn", program=program, warnings=[])
    assert "distinct(" not in re.sub("// .*", "", trace) and report["verify"]["ok"]


def ones(names):
    return [f"-D{name}=1" for name in names]


def primes(names, as_size="-D"):
    values = [SMALL[n % 3] for n in range(len(names) - 1)] + [LARGE]
    return [f"{as_size}{name}={value}" for name, value in zip(names, values, strict=True)]


def symbols(names):
    return [f"-D{name}=?" for name in names] + primes(names, "--size=")


# Programs that take as long where their sizes are symbols. Others of their rules are symbols by
# default: f16_tt_bias, experts, one_tap_of_planes, and image_norm in
# test_images_of_any_size_have_one_pass_for_mean_and_variance.
DEAR_AS_SYMBOLS = {
    "doubles_of_groups",
    "image_norm",
    "many_channels",
    "sums_by_rows",
    "tn",
    "u8_nt",
    "upsampled",
    "upsampled_tanh",
    "upsampled_pooled",
    "whole_weights",
    "close_pairs",
    "norm_by_nests",
    "sums_of_edges",
    "chain",
    "gated",
    "weights_across",
    "search_both",
    "bf16_nn",
    "nn",
    "short_nn",
    "bias_and_scatter",
    "search_rounds",
    "search_all",
    "power_method",
    "sums_by_index",
    "sums_of_heads",
    "pairs_of_rows",
}


def kinds_of_sizes():
    """Each program at each kind of sizes; by default at one of them, in turn."""
    for number, (kernel, *_) in enumerate(RULES):
        kinds = (ones, primes, symbols)
        dear = kernel in DEAR | DEAR_AS_SYMBOLS
        usual = ones if dear else kinds[number % len(kinds)]
        for sizes in kinds:
            yield from [(kernel, sizes)] if sizes is usual else in_sweep((kernel, sizes))


@pytest.mark.parametrize("kernel, sizes", kinds_of_sizes())
def test_sizes(kernel, sizes):
    # steps in the steps of another loop stay in order where their number is a symbol
    alone = kernel == "value_before_row" and sizes is symbols
    warnings = () if alone else ("--werror",)
    assert run(kernel, *sizes(sizes_of(kernel)), warnings=warnings)[1]["verify"]["ok"]


def test_results_of_rows_that_have_values_before_stay_in_memory():
    trace, report = run("value_before_row", "-DB=?", "-DN=?", "--size=B=2", "--size=N=37")
    assert "// rows: " in trace and report["verify"]["ok"], trace


def test_pixels_of_joined_loops_are_independent():
    """The subscripts of a result are the digits of a pixel's number, which threads share out."""
    program = ROOT / "examples" / "kernelbench" / "conv_2d_asymmetric_kernel.tir"
    command = [os.environ["TIRC"], program, "--trace"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert "// three_passes: " in done.stdout and "refused" not in done.stdout, done.stdout


def test_pools_are_not_computed_in_rows_that_many_blocks_share():
    trace = emit(PROGRAMS, "--kernel", "sum_of_pools", "-DR=600", "-DN=500", "--trace")
    assert rules_of(trace) == ["threads", "small_rows", "rows"], trace


LEVEL_2 = ROOT / "examples" / "kernelbench" / "level2"


@pytest.mark.parametrize(
    "program, kernel",
    [
        ("conv_2d", "conv_2d_relu_hard_swish"),  # 72 terms, and a bias
        *in_sweep(("conv_2d", "conv_2d_subtract_mish"), ("conv_2d", "conv_2d_relu_bias")),
    ],
)
def test_convolutions_with_a_bias_go_to_tensor_cores(program, kernel):
    trace = emit(LEVEL_2 / f"{program}.tir", "--kernel", kernel, "--trace")
    assert '"wgmma_3xtf32_tt"' in trace and "refused" not in trace, trace


@pytest.mark.sweep
def test_biases_of_convolutions_on_tensor_cores_are_right():
    command = [os.environ["TIRC"], LEVEL_2 / "conv_2d.tir", "--kernel", "conv_2d_relu_hard_swish"]
    command += ["-DN=356", "-DH=8", "-DW=8", "-DC=3", "--verify", "--device", "sim", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout)
    assert report["verify"]["ok"] and len(report["launches"]) == 2, report["launches"]


def test_halves_are_computed_and_rounded_in_pairs():
    """Also beside results of other widths, for which accesses pass through registers."""
    for size in ("-DN=4096", "-DN=?"):
        text = emit(PROGRAMS, "--kernel", "floats_and_halves", size)
        for pair in ("mul_f16x2(", "add_f16x2(", "bf16x2_from_f32("):
            assert text.count(pair) > 2, text


@pytest.mark.parametrize(
    "kernel, name",
    [
        ("images_by_taps", "C"),
        *in_sweep(("images_by_taps", "O"), ("planes_by_taps", "C"), ("planes_by_taps", "O")),
    ],
)
def test_few_channels_fill_no_tile_of_tensor_cores(kernel, name):
    trace, report = run(kernel, "-DH=3", "-DW=6", f"-D{name}=31")
    assert "// windows: " in trace and report["verify"]["ok"], trace


@pytest.mark.parametrize("kernel", ["doubles_of_groups", *in_sweep("halves_of_groups")])
@pytest.mark.parametrize("parts", [
    *in_sweep([0, 1]),  # all rows in the last group
    *in_sweep([1, 1]),  # all in the first
    *in_sweep([0.5, 0.5]),  # none in the one between
    *in_sweep([0.01, 0.02]),  # groups of a row
    [64, 128],  # at the ends of tiles
])  # fmt: skip
def test_tiles_have_rows_of_any_groups(tmp_path, kernel, parts):
    rows = 150 if kernel == "halves_of_groups" else 70
    between = [min(part if part > 1 else int(part * rows), rows) for part in parts]
    first = [0, *between, rows] + [rows] * (kernel == "doubles_of_groups") * 2
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(first)},), }}"
    path = tmp_path / "first.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode()
                     + b"\n" + struct.pack(f"<{len(first)}i", *first))  # fmt: skip
    trace, report = run(kernel, f"--input=first={path}")
    assert "// groups: " in trace and report["verify"]["ok"], trace


def options_of(sizes):
    """Those for sizes that are given as `M=129`, or as `M=?129` where only the launch knows it."""
    options = []
    for name, size in (given.split("=") for given in sizes):
        symbolic = size.startswith("?")
        options += [f"-D{name}={'?' if symbolic else size}"]
        options += [f"--size={name}={size[1:]}"] if symbolic else []
    return options


# Products in ranges of data: sizes that fill no tile, of one term, and known at the launch only.
RANGES = [
    ("products_of_lengths", ["M=129", "N=65", "K=128"], True),
    ("products_of_lengths", ["K=1"], False),
    ("products_of_lengths", ["B=1", "K=257"], True),
    ("last_terms", ["M=128", "N=64", "K=?131"], True),
    ("last_terms", ["M=257", "N=65", "K=129"], True),
]


@pytest.mark.parametrize("kernel, sizes, tiles", [RANGES[0], *in_sweep(*RANGES[1:])])
def test_products_in_ranges_of_data_have_tiles(kernel, sizes, tiles):
    trace, report = run(kernel, *options_of(sizes))
    assert report["verify"]["ok"] and ("triangle" in rules_of(trace)) == tiles, trace


# Attention of floats by threads: rows and keys that fill no tiles, and sizes known at the launch.
FLOATS = [
    ("attention_of_floats", ["S=65"]),
    ("attention_of_floats", ["S=200", "D=40"]),
    ("attention_of_floats", ["S=129", "D=128"]),
    ("attention_of_floats", ["S=?130"]),
    ("attention_of_floats", ["S=?1"]),
    ("floats_of_lengths", ["S=129", "D=64"]),
    ("floats_of_lengths", ["S=?67", "B=?2"]),
    ("floats_in_windows", ["S=?131"]),
    ("floats_in_windows", ["H=132", "S=64", "W=63"]),  # a tile of 128 rows, by eight warps
    ("floats_of_one_head", ["S=64", "T=2"]),
    ("floats_of_one_head", ["S=?67", "T=?65"]),
    ("floats_of_one_head", ["S=?127", "T=?257", "D=100"]),
]


@pytest.mark.parametrize("kernel, sizes", [FLOATS[0], *in_sweep(*FLOATS[1:])])
def test_attention_of_floats_takes_one_pass(kernel, sizes):
    trace, report = run(kernel, *options_of(sizes))
    assert rules_of(trace) == ["attention"] and report["verify"]["ok"], trace
    assert len(report["launches"]) == 1, report["launches"]


# Attention of less than a tile of 128 rows or 64 keys, and of a little more.
LENGTHS = [
    ("attention", [33, 70]),
    ("attention", [129, 33]),
    ("causal_attention", [129]),
    ("causal_attention", [33]),
    ("window_attention", [200]),
    ("window_attention", [129]),
    ("attention_in_steps", [129, 63]),
    ("attention_of_rows", [129, 33]),
    ("attention_of_rows", [33, 70]),
    ("grouped_queries", [33, 129]),
    ("queries_of_groups", [33, 65]),
    ("queries_of_groups", [129, 65]),
]


def kinds_of_lengths():
    """As literals and as symbols, one of them by default."""
    for number, (kernel, lengths) in enumerate(LENGTHS):
        for symbolic in (False, True):
            usual = number % 4 == 0 and symbolic == (number % 8 == 0)
            case = (kernel, lengths, symbolic)
            yield from [case] if usual else in_sweep(case)


@pytest.mark.parametrize("kernel, lengths, symbolic", kinds_of_lengths())
def test_attention_of_any_length_takes_one_pass(kernel, lengths, symbolic):
    sizes = ["-DH=1"] if kernel in ("causal_attention", "attention_of_rows") else []
    for name, length in zip("ST", lengths, strict=False):
        sizes += [f"-D{name}=?", f"--size={name}={length}"] if symbolic else [f"-D{name}={length}"]
    trace, report = run(kernel, *sizes)
    assert rules_of(trace) == ["attention"] + ["versions"] * symbolic, trace
    assert report["verify"]["ok"] and launched(report) == [symbolic * 1], report["launches"]


# Of whole tiles, and of a tile of queries or keys that is not.
@pytest.mark.parametrize(
    "lengths, masked",
    [([128, 64], False), *in_sweep(([256, 64], False), ([128, 65], True), ([129, 64], True))],
)
def test_attention_of_whole_tiles_asks_for_no_last_key(lengths, masked):
    sizes = [f"-D{name}=?" for name in "ST"]
    sizes += [f"--size={name}={length}" for name, length in zip("ST", lengths, strict=True)]
    _, report = run("attention", *sizes)
    assert report["verify"]["ok"] and launched(report) == [masked * 1], report["launches"]


# Few queries by keys that several blocks share: parts that are full, the last of which is not, and
# of which masks hide all keys. Where there is one part, there is one launch.
PARTS_OF_KEYS = [
    ("attention", 5, "600", 2),
    ("attention", 1, "1024", 2),
    ("attention_in_steps", 5, "?1100", 3),
    ("attention_in_steps", 5, "?1", 1),
    ("attention_of_rows", 64, "513", 2),
    ("grouped_queries", 2, "1040", 3),
    ("attention", 5, "512", 0),
    ("attention", 5, "?600", 2),
    ("queries_of_groups", 3, "?513", 2),
]


@pytest.mark.parametrize("kernel, queries, keys, parts", in_turn(PARTS_OF_KEYS, 3))
def test_attention_of_few_queries_shares_out_the_keys(kernel, queries, keys, parts):
    length = [f"-DT={keys}"] if keys.isdigit() else ["-DT=?", f"--size=T={keys[1:]}"]
    trace, report = run(kernel, f"-DS={queries}", *length)
    assert rules_of(trace) == ["attention"] and report["verify"]["ok"], trace
    assert trace.count("recenter(") == (parts > 0)
    assert len(report["launches"]) == (2 if parts > 0 else 1)
    assert parts == 0 or report["launches"][0]["grid"][1] == parts, report["launches"]


@pytest.mark.parametrize("heads, blocks", [(1, "1, 16"), (8, "1, 16, 8"), (132, "1, 2, 132"),
                                           (133, "1, 1, 133")])  # fmt: skip
def test_attention_of_few_queries_keeps_all_multiprocessors_busy(heads, blocks):
    """Two blocks for each of 132 multiprocessors, of 512 keys or more."""
    program = ROOT / "examples/networks/transformer.tir"
    text = emit(program, "--kernel", "decode", f"-DB={heads}", "-DG=1", "-DS=8192")
    assert f"decode<<<dim3({blocks}), 128>>>" in text, text[:2000]


@pytest.mark.parametrize("kernel", ["weights_of_groups", *in_sweep("weights_in_words")])
@pytest.mark.parametrize(
    "rows, columns", [(17, 64), *in_sweep((1, 72), (17, 72), (64, 72), (65, 72))]
)
def test_few_rows_of_a_symbolic_number_are_held(kernel, rows, columns):
    """The version for up to 64 rows converts weights in registers, the others in a launch."""
    trace, report = run(kernel, "-DM=?", f"-DN={columns}", f"--size=M={rows}")
    assert rules_of(trace).count("held") == 1 and report["verify"]["ok"], trace
    launches = [launch for launch in report["launches"] if all(launch["grid"])]
    assert len(launches) == (1 if rows <= 64 else 2), launches


# Conversions of these are instructions from sm_89 on.
FLOATS_OF_8_BITS = {"weights_across"}
# Rules of which some steps need new GPUs.
NEWER = {"tensor_cores", "held", "convolution", "groups", "joined", "contraction", "rows"}


def for_other_gpus():
    """A program of each such rule, for a GPU without tensor cores for it; in the sweep all of them,
    for several GPUs."""
    seen = set()
    for kernel, rules, _ in RULES:
        if NEWER & set(rules):
            usual = kernel not in DEAR and rules[0] not in seen
            seen |= {rules[0]} if usual else set()
            for arch in ("sm_75", "sm_80", "sm_86", "sm_100a"):
                case = (kernel, arch)
                yield from [case] if usual and arch == "sm_75" else in_sweep(case)


@pytest.mark.parametrize("kernel, arch", for_other_gpus())
def test_other_gpus(kernel, arch):
    sizes = primes(sizes_of(kernel)) if kernel in DEAR else []
    assert run(kernel, f"--arch={arch}", *sizes, warnings=[])[1]["verify"]["ok"]


@pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")
@pytest.mark.parametrize("arch, part", [
    ("sm_75", 10),
    *in_sweep(*((arch, 1) for arch in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_100a"))),
])  # fmt: skip
def test_other_gpus_compile(arch, part):
    """No rule makes what a GPU has no instruction for."""
    rows = [row for row in RULES if NEWER & set(row[1]) and row[0] not in FLOATS_OF_8_BITS][::part]
    texts = [emit(PROGRAMS, f"--arch={arch}", "--kernel", row[0]) for row in rows]
    compiler = nvrtc.Nvrtc()
    refused = compiler.refused(texts, compiler.machine_code(arch))
    assert not {rows[n][0]: messages for n, messages in refused.items()}


def test_every_program_has_its_row():
    assert sorted(TEXTS) == sorted(row[0] for row in RULES)


def test_long_sums_are_accurate():
    """One thread would add all terms in order, and lose a digit with every tenfold."""
    report = run("sum_all", "-DN=262144")[1]
    assert report["verify"]["ok"] and report["verify"]["rounding"]["additions"] < 100


HELD_SCANS = [
    (rows, elements)
    for number, elements in enumerate([8192, 8196, 8194, 8191, 8185, 20003])
    for rows in ([1, 5] if number % 2 else [5, 1])
]


@pytest.mark.parametrize("rows, elements", in_turn(HELD_SCANS, 2))
def test_scans_hold_tiles_in_registers(rows, elements):
    """They are read once, also in front of the sums of the tiles before, and 16 bytes at a time but
    at the ends of rows that start anywhere."""
    sizes = [f"-DM={rows}", f"-DN={elements}"]
    assert run("scan", *sizes)[1]["verify"]["ok"]
    text = emit(PROGRAMS, "--kernel", "scan", *sizes)
    assert "*(const float4 *)&x[" in text and "*(float4 *)&y[" in text, text
    held = int(re.search(r" x_local\[(\d+)\]", text)[1])
    assert "x_shared" not in text and held <= 36, text


@pytest.mark.parametrize("rows, elements, threads", [
    (300, 4096, 256),  # whole shares, in registers
    (300, 4104, -256),
    (300, 16392, -512),
    (300, 20003, -512),
    (300, 57600, -512),
    (300, 57616, 1024),  # two rows are more than shared memory holds
])  # fmt: skip
def test_long_rows_of_bf16_are_held_in_shared_memory(rows, elements, threads):
    """Of `-threads`: where registers of a multiprocessor hold one row, or shares have guards."""
    text = emit(PROGRAMS, "--kernel", "log_softmax_of_bf16", f"-DM={rows}", f"-DN={elements}")
    assert ("x_shared" in text, f", {abs(threads)}" in text.split("(x, y)")[0]) == (
        threads < 0,
        True,
    ), text


@pytest.mark.parametrize("elements", [4104, 20003])
def test_rows_in_shared_memory_are_right(elements):
    report = run("log_softmax_of_bf16", "-DM=2", f"-DN={elements}")[1]
    assert report["verify"]["ok"], report


@pytest.mark.parametrize("elements, threads, barriers", [
    (5000, 512, 2),
    (8192, 1024, 2),
    (32768, 1024, 2),
    (8190, 256, 2),
    (40000, 1024, 2),
])  # fmt: skip
def test_warps_scan_rows_with_shuffles(elements, threads, barriers):
    """Their sums pass through shared memory once, and what stands before them once."""
    report = run("scan", "-DM=2", f"-DN={elements}")[1]
    assert report["verify"]["ok"], report
    launch = report["launches"][-1]
    assert (launch["block"][0], launch["barriers"]) == (threads, barriers), report
    text = emit(PROGRAMS, "--kernel", "scan", "-DM=2", f"-DN={elements}")
    assert text.count("__shfl_sync(") >= 6, text


@pytest.mark.parametrize("elements", [1048579, *in_sweep(1048576)])
def test_warps_scan_a_part_of_a_long_row_before_their_block_waits(elements):
    assert run("scan", "-DM=1", f"-DN={elements}")[1]["verify"]["ok"]
    text = emit(PROGRAMS, "--kernel", "scan", "-DM=1", f"-DN={elements}")
    assert text.index("thread - 16)") < text.index("await_element(&s_sums["), text


@pytest.mark.parametrize("kernel", ["histogram", "sums_in_any_order"])
@pytest.mark.parametrize("elements, values, lanes", [
    ("2162689", 256, True),
    ("2162687", 256, False),
    ("2162688", 257, False),
    ("?", 3, True),
])  # fmt: skip
def test_many_updates_of_few_elements_have_copies_of_lanes(kernel, elements, values, lanes):
    """They lie in shared memory, 32 copies of a value next to each other."""
    sizes = [f"-DN={elements}", f"-DV={values}", "--set", "threads=64"]
    text = emit(PROGRAMS, "--kernel", kernel, "--schedule", "default", *sizes)
    assert (f"_private_private[{values}][32];" in text) == lanes, text


@pytest.mark.parametrize("elements", [1, 8191, 300007])
def test_copies_of_lanes_add_up(elements):
    report = run("histogram", "-DN=?", "-DV=100", "--size", f"N={elements}")[1]
    assert report["verify"]["ok"] and report["launches"][-1]["block"][1] == 32


@pytest.mark.parametrize("elements, grid", [(1 << 16, 64), (1 << 20, 1024), (1 << 24, 2048)])
def test_parts_of_long_sums_start_one_after_the_other(elements, grid):
    """A multiprocessor that ends early takes another part."""
    text = emit(PROGRAMS, "--kernel", "sum_all", f"-DN={elements}", "--set", "threads=64")
    last = 1024 if grid > 1024 else 64
    assert f"sum_all<<<{grid}, 64>>>" in text and f"sum_all_1<<<1, {last}>>>" in text, text


@pytest.mark.parametrize("rows, launches", [(1, 1), (300, 2)])
def test_what_uses_a_whole_sum_is_in_its_launch(rows, launches):
    report = run("mean_square", f"-DM={rows}")[1]
    assert report["verify"]["ok"] and len(report["launches"]) == launches


@pytest.mark.parametrize("terms, columns", [(8, 257), (37, 129), (2053, 300)])
def test_parts_of_many_columns_add_up(tmp_path, terms, columns):
    """They are for so many that the simulator would take long."""
    schedule = tmp_path / "parts.sched"
    schedule.write_text("schedule parts for any() { in_parts_of_blocks(bands()[0], 4); }")
    sizes = [f"-DM={terms}", f"-DN={columns}", "--schedule", schedule]
    launches = run("column_sum", *sizes)[1]["launches"]
    assert [launch["grid"][:2] for launch in launches] == [
        [-(-columns // 128), 4],
        [-(-columns // 128), 1],
    ]


@pytest.mark.parametrize("paths", [1, 700, 1800])
def test_threads_reduce_several_of_many_iterations(tmp_path, paths):
    """Of 1 Mi and more, so that the simulator would take long."""
    text = emit(PROGRAMS, "--kernel", "paths", "-DP=1048576")
    assert "round < 2" in text and "paths<<<2048, 256>>>" in text, text
    schedule = tmp_path / "rounds.sched"
    schedule.write_text(
        "schedule rounds for any()"
        "{ let [p] = loops(mean); reduce_in_rounds([p], blocks(p), 3); by_rules(256, [0]); }"
    )
    assert run("paths", f"-DP={paths}", "--schedule", schedule)[1]["verify"]["ok"]


def test_what_only_writes_has_more_threads():
    """Blocks of 128 threads that store a word each do not start as fast as memory writes."""
    program = ROOT / "tests" / "gpu" / "memory" / "programs.tir"
    text = emit(program, "--kernel", "scatter_add", "--schedule", "default")
    assert "scatter_add<<<65536, 256>>>(y)" in text, text
    assert "chain<<<262144, 128>>>" in emit(program, "--kernel", "chain")


@pytest.mark.parametrize(
    "kernel, inner", [("batch_norm", "row_round_fused"), ("layer_norm", "round_row_fused")]
)
def test_blocks_of_rows_follow_each_other_unless_rows_share_what_they_read(kernel, inner):
    text = emit(ROOT / "examples" / "kernelbench" / f"{kernel}.tir", "--kernel", kernel)
    assert f"const int {inner} = blockIdx.x;" in text, text


@pytest.mark.parametrize(
    "size, holds", [(8192, False), (8224, True), *in_sweep((65536, True), (65540, False))]
)
def test_few_long_rows_are_held_by_clusters(size, holds):
    trace, report = run("softmax", "-DM=2", f"-DN={size}")
    assert ("// rows: a cluster of blocks for each" in trace) == holds, trace
    assert report["verify"]["ok"]


@pytest.mark.parametrize("kernel, launches", [("batch_norm", 3), ("matrix_vector", 1)])
def test_very_long_rows_that_are_read_again_are_of_many_blocks(kernel, launches):
    """However many they are: the L2 holds none of them. Rows that are read once have a block."""
    text = emit(ROOT / "examples" / "kernelbench" / f"{kernel}.tir", "--kernel", kernel)
    assert f"// {kernel}: {launches} launch" in text, text


IN_TURNS = """
schedule in_turns for any()
{
    free_temporaries();
    inline_elements();
    for band in bands() {
        for first in first_reduction(band[-1]) {
            note("rows: blocks use a row while they reduce the next one");
            rows_in_turns(fuse(band), first, [64, 4, 2]);
        }
    }
}
"""


@pytest.mark.parametrize("rows, is_near", [(112, True), (1, False)])
def test_rows_that_the_l2_holds_are_used_while_others_are_reduced(rows, is_near):
    """In one launch, behind those that clear what its blocks await; few rows in three launches."""
    program = ROOT / "examples" / "kernelbench" / "group_norm.tir"
    text = emit(program, f"-DN={rows}", "--trace")
    assert ("// rows: blocks use a row while they reduce the next one" in text) == is_near
    assert f"// group_norm: {5 if is_near else 3} launches" in text, text
    grid = "group_norm_4<<<dim3(64, 897), 1024>>>"
    assert (grid in text and text.count("__ldcs(") == 1) == is_near, text


@pytest.mark.parametrize(
    "kernel, sizes",
    [
        ("softmax", {"M": 3, "N": 3072}),
        ("softmax", {"M": 1, "N": 1024}),
        ("l2_norm", {"M": 5, "N": 2048}),
        ("group_norm", {"N": 2, "G": 2, "C": 6, "H": 32, "W": 32}),
    ],
)
def test_blocks_use_a_row_while_they_reduce_the_next(tmp_path, kernel, sizes):
    """Shorter rows by the steps of the rule, the first and the last one included."""
    schedule = tmp_path / "in_turns.sched"
    schedule.write_text(IN_TURNS)
    program = ROOT / "examples" / "kernelbench" / f"{kernel}.tir"
    given = [f"-D{name}={n}" for name, n in sizes.items()]
    _, report = run(kernel, *given, "--schedule", schedule, program=program)
    assert report["verify"]["ok"]
    rows = sizes.get("M") or sizes["N"] * sizes["G"]
    assert report["launches"][-1]["grid"][1] == rows + 1


@pytest.mark.parametrize("rows", [1, *in_sweep(3)])
def test_few_long_scans_are_of_all_blocks(rows):
    """In one launch, after those that clear what blocks wait for."""
    trace, report = run("scan", f"-DM={rows}", "-DN=262145")
    assert "// scan: " in trace and report["verify"]["ok"]
    assert [launch["grid"][:2] for launch in report["launches"]][-1] == [65, rows]


ODD_ROWS = ["softmax", "layernorm"]


@pytest.mark.parametrize(
    "kernel", ["row_sum", "softmax", "layernorm", "sum_all", "mean_square", "column_product"]
)
def test_long_rows_are_read_wide(kernel):
    """Four elements for each load of a thread, where all rows start at a multiple of four, or where
    registers hold rows, whose ends are read one by one then."""
    *rows, last = sizes_of(kernel)
    few = [f"-D{name}=2" for name in rows]
    for elements, is_wide in ((8192, True), (8191, not rows or kernel in ODD_ROWS)):
        trace, report = run(kernel, f"-D{last}={elements}", *few)
        assert report["verify"]["ok"] and ("vectorize(" in trace) == is_wide


def emit(program, *options):
    done = tirc(program, *options, "--emit", "cuda")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("elements", [512, 4096])
def test_rows_of_halves_are_read_and_written_wide(elements, element):
    """Sixteen bytes for each access of a thread. What two loops compute has the same form in both,
    one element after the other, so that it is computed once; ptxas rounds pairs."""
    sizes = [f"-DN={elements}", f"-DT={element}"]
    assert run("half_softmax", *sizes)[1]["verify"]["ok"]
    text = emit(PROGRAMS, "--kernel", "half_softmax", *sizes)
    assert "*(const uint4 *)&x[" in text and "*(uint4 *)&y[" in text, text
    assert f"{element}x2_from_f32(" not in text and f"{element}_from_f32(" in text, text


@pytest.mark.parametrize("kernel", ["halves_of_bytes", "halves_with_scales"])
def test_bytes_of_two_numbers_are_read_wide(kernel):
    """With the pairs of elements that belong to the numbers."""
    sizes = ["-DM=2", "-DN=2048"]
    assert run(kernel, *sizes)[1]["verify"]["ok"]
    text = emit(PROGRAMS, "--kernel", kernel, *sizes)
    assert "*(const uint2 *)&w[" in text and "*(const float4 *)&x[" in text, text


@pytest.mark.parametrize("columns, rows, parts", [
    (256, 65536, 64), (256, 65537, 64), (128, 4096, 16), (2048, 65536, 1), (70, 200, 1),
])  # fmt: skip
def test_sums_of_few_tiles_have_parts(columns, rows, parts):
    """Whose blocks fill the GPU; terms that are left over are added with the parts."""
    sizes = [f"-DM={columns}", f"-DN={rows}"]
    text = emit(PROGRAMS, "--kernel", "covariances", *sizes)
    launch = re.search(r"<<<dim3\(\d+, \d+(?:, (\d+))?\), dim3\(32, [48]\)>>>\(x, mean, c", text)
    assert int(launch[1] or 1) == parts, text


def test_long_sums_of_small_triangles_have_parts():
    text = emit(PROGRAMS, "--kernel", "covariances_of_pairs", "-DM=48", "-DN=8192")
    assert re.search(r"<<<dim3\(1, 2, 32\), dim3\(32, 4\)>>>\(x, mean, c_global_rf", text), text


def test_centred_columns_of_fewer_digits_take_tensor_cores():
    trace = emit(PROGRAMS, "--kernel", "centred_of_digits", "-DM=1024", "-DN=1024", "--trace")
    assert rules_of(trace) == ["products"] * 2 + ["tensor_cores"] + ["elements"] * 2, trace


@pytest.mark.parametrize("element", ["f16", "f32"])
def test_rows_of_symbolic_size_are_read_wide(tmp_path, element):
    """Where the program says that all of them start at a multiple of sixteen bytes."""
    program = tmp_path / "sums.tir"
    program.write_text("""
kernel sums<M, N, T: type>(x: T[M, N]) -> y: f32[M]
    where N % 8 == 0
{
    for i in M {
        y[i] = 0;
        for j in N
            y[i] += f32(x[i, j]);
    }
}
""")
    wide = "uint4" if element == "f16" else "float4"
    assert f"*(const {wide} *)&x[" in emit(program, f"-DT={element}")
    for elements in ("8", "1120", "4096"):
        command = [os.environ["TIRC"], program, f"-DT={element}", "--size=M=2", "--verify"]
        done = subprocess.run(
            [*command, f"--size=N={elements}"], capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("elements, lanes", [(2051, 2), (4095, 2), (8191, 4), *in_sweep((8185, 4))])
def test_rows_that_start_anywhere_are_held_in_several_elements_at_a_time(elements, lanes):
    """Also where the last round of threads is in the row or not, as its start decides; registers
    hold no more than a thread's elements."""
    program = ROOT / "tests" / "gpu" / "memory" / "programs.tir"
    sizes = ["--kernel", "softmax", "-DT=f32", "-DM=5", f"-DN={elements}"]
    done = subprocess.run([os.environ["TIRC"], program, *sizes, "--verify", "--device", "sim"])
    text = emit(program, *sizes)
    held = int(re.search(r" x_local\[(\d+)\]", text)[1])
    assert done.returncode == 0 and held <= 36, text
    assert f"(const float{lanes} *)&x[" in text and f"(float{lanes} *)&y[" in text, text


@pytest.mark.parametrize("elements", ["65537", "?"])
def test_sums_of_rows_that_start_anywhere_read_16_bytes_at_a_time(elements):
    program = ROOT / "examples" / "kernelbench" / "matrix_vector.tir"
    sizes = ["-DM=3", f"-DK={elements}"]
    given = ["--size=K=65537"] if elements == "?" else []
    command = [os.environ["TIRC"], program, *sizes, *given, "--verify", "--device", "sim"]
    assert subprocess.run(command).returncode == 0
    assert "(const float4 *)&A[" in emit(program, *sizes)


@pytest.mark.parametrize("elements", [1000, 999, 2008, *in_sweep(2007)])
def test_symbolic_rows_of_halves_keep_exponentials(elements):
    """Behind guards, the compiler of CUDA does not share those of the sum and of the quotient."""
    sizes = ["-DM=?", "-DN=?", "--size=M=2", f"--size=N={elements}"]
    trace, report = run("half_softmax", *sizes)
    assert report["verify"]["ok"] and trace.count("cache_value(") == 4, trace


@pytest.mark.parametrize("elements", [512, 4096, *in_sweep("?")])
def test_what_rows_compute_from_several_is_kept(elements):
    """The sum of two rows, which two nests use, is in registers: both rows are read once."""
    sizes = ["-DM=3", f"-DN={elements}"]
    trace, report = run("norm_of_sums", *sizes, *(["--size=N=1001"] if elements == "?" else []))
    assert report["verify"]["ok"] and "cache_value(" in trace, trace
    text = emit(PROGRAMS, "--kernel", "norm_of_sums", *sizes)
    assert elements == "?" or text.count("&x[") == text.count("&z[") == 1, text


@pytest.mark.parametrize("kernel, sizes, hints", [
    ("relu", {"N": 1 << 25}, 1),
    ("relu", {"N": 1 << 24}, 0),  # caches hold much of it
    ("softmax", {"M": 1 << 16, "N": 512}, 1),
    ("half_softmax", {"M": 1 << 16, "N": 1024}, 1),
    ("bias", {"M": 1 << 16, "N": 512}, 1),  # but not b, which all rows use
    ("bias", {"M": (1 << 17) + 1, "N": 511}, 0),  # rows start anywhere
    ("differences", {"N": 1 << 26}, 0),  # as are elements
    ("unfolded", {"B": 64, "L": 1 << 20}, 0),  # as are those of windows
    ("row_sum", {"M": 1 << 16, "N": 512}, 0),  # little is written
    ("norm_of_sums", {"M": 1 << 15, "N": 1024}, 2),
    ("embedding", {"B": 1 << 26, "D": 1}, 0),  # indices of rows, which the L2 should hold
    ("placed", {"N": 1 << 26}, 0),
    ("transposed", {"R": 1 << 13, "C": 1 << 13}, 0),  # tiles of shared memory
])  # fmt: skip
def test_launches_that_move_much_keep_what_they_read(kernel, sizes, hints):
    words = [f"-D{name}={size}" for name, size in sizes.items()]
    text = emit(PROGRAMS, "--kernel", kernel, *words)
    assert text.count("load_evict_last((") + text.count("load_evict_last(&") == hints, text


def test_launches_that_read_twice_have_other_hints():
    """Those of a group norm stream what they read for the second time."""
    text = emit(ROOT / "examples" / "kernelbench" / "group_norm.tir")
    assert "__ldcs(" in text and "evict_last" not in text, text


def test_rows_of_halves_that_start_anywhere_are_not_read_wide():
    trace, report = run("half_softmax", "-DN=4097")
    assert report["verify"]["ok"] and "vectorize(" not in trace


def test_long_odd_images_are_written_16_bytes_at_a_time():
    """Weights do not start where the images do, so they are read one by one."""
    program = ROOT / "examples" / "kernelbench" / "layer_norm.tir"
    text = emit(program, "-DN=2", "-DC=5", "-DH=255", "-DW=257", "--werror")
    assert "(const float4 *)&x[" in text and "(float4 *)&y[" in text, text


@pytest.mark.parametrize(
    "height, width, lanes", [(33, 65, 2), (101, 65, 4), *in_sweep((183, 181, 4))]
)
def test_odd_images_are_held(height, width, lanes):
    """By a block of threads, or a cluster, several elements at a time."""
    program = ROOT / "examples" / "kernelbench" / "instance_norm.tir"
    sizes = ["-DN=1", "-DC=2", f"-DH={height}", f"-DW={width}"]
    done = subprocess.run([os.environ["TIRC"], program, *sizes, "--verify", "--device", "sim"])
    text = emit(program, *sizes)
    assert done.returncode == 0
    assert f"(const float{lanes} *)&x[" in text and f"(float{lanes} *)&y[" in text, text


@pytest.mark.parametrize(
    "program, sizes",
    [
        ("batch_norm", ["--kernel", "batch_norm", "-DN=128"]),
        *in_sweep(("group_norm", ["-DN=128"])),
    ],
)
def test_images_whose_sides_no_part_fills_are_read_once_for_mean_and_variance(program, sizes):
    """Registers hold boxes, which parts of such images are not, so these are rows of a copy."""
    path = ROOT / "examples" / "kernelbench" / f"{program}.tir"
    trace = emit(path, "-DH=126", "-DW=126", *sizes, "--trace")
    assert "recenter(" in trace and "reindex_cache_read(mean, x, local," in trace, trace
    assert "E0423" not in trace, trace


@pytest.mark.parametrize("height, width", [(182, 182), *in_sweep((202, 166), (122, 530))])
def test_images_whose_sides_no_part_fills_are_right(height, width):
    sizes = ["-DN=1", "-DC=1", f"-DH={height}", f"-DW={width}"]
    trace, report = run("image_norm", *sizes)
    assert "E0423" not in trace and report["verify"]["ok"], trace


@pytest.mark.parametrize("element, lanes", [("bf16", 2), ("f16", 2), ("i8", 4), ("f32", 1)])
@pytest.mark.parametrize("columns", [48, 64])
@pytest.mark.parametrize("terms", [100, 600])
def test_narrow_columns_are_read_in_words(terms, columns, element, lanes):
    """Four bytes for each load of a thread, so that a warp reads a line of the cache."""
    sizes = [f"-DM={terms}", f"-DN={columns}", f"-DT={element}"]
    trace, report = run("half_columns", *sizes)
    splits = re.findall(rf", \[_, (?:16|32), {lanes}\]\)", trace)
    assert report["verify"]["ok"] and len(splits) == (2 if lanes > 1 else 0), trace


@pytest.mark.parametrize(
    "kernel, sizes",
    [
        ("short_nn", "M=4 N=128 K=8192"),
        ("short_nn", "M=8 N=8 K=1048576"),
        ("short_nn", "M=2 N=4096 K=1024"),
        ("short_nt", "P=1 M=8 N=8 K=262144"),
        ("short_nt", "P=8 M=4 N=16 K=65536"),
        ("short_tt", "M=64 N=1 K=65536"),
        ("short_bytes", "M=64 N=64 K=65536"),
        ("turned_vector", "M=8 N=1 K=1048576"),
        ("short_stored", "M=4 N=128 K=8192 L=3"),
        ("bf16_few_rows", "M=4 N=128 K=65536"),
        ("bf16_one_row", "N=128 K=65536"),
        ("few_columns", "M=1048576 N=2"),
        ("lengths_stored", "M=2 N=1048576"),
        ("mean_of_columns", "M=65536 N=7"),
        ("norm_of_columns", "M=65536 N=64"),
        ("softmax_of_columns", "M=65536 N=256"),
        ("row_sum", "M=4 N=262144"),
    ],
)
def test_long_sums_of_few_results_fill_the_grid(kernel, sizes):
    """Each launch that reads a parameter of 64 Ki elements has 100 blocks or more."""
    text = emit(PROGRAMS, "--kernel", kernel, *(f"-D{size}" for size in sizes.split()))
    parameters = re.findall(r"^//   (\w+): \w+\[([\d, ]+)\], read$", text, re.M)
    large = {name for name, shape in parameters if product_of(shape) >= 65536}
    launches = re.findall(r"^// \w+<<<(dim3\([^)]*\)|\d+), .*>>>\((.*)\);", text, re.M)
    blocks = [
        product_of(grid.removeprefix("dim3(").removesuffix(")"))
        for grid, arguments in launches
        if large & {name.removesuffix("_map") for name in arguments.split(", ")}
    ]
    assert blocks and min(blocks) >= 100, text


def product_of(numbers):
    return math.prod(int(number) for number in numbers.split(","))


# The rule for few long rows, also for rows that are too short for it: the simulator takes seconds
# for long ones.
SHARED = """
schedule shared for any()
{
    free_temporaries();
    inline_elements();
    expand_temporaries();
    for band in bands() {
        share(band);
    }
}

proc share(band)
{
    for first in first_reduction(band[-1]) {
        for together in [true, false] {
            try {
                note("rows: many blocks of threads for each");
                share_long_rows(fuse(band), first, 64, together);
                return true;
            }
        }
    }
    return false;
}
"""


def steps(trace):
    """The primitives of a trace, in order; loops and buffers may have other names."""
    calls = re.findall(r"^    (?:let .* = )?(\w+)\(", trace.split("\n}\n")[0], re.M)
    return [name for name in calls if name not in ("loops", "bands")]


def shared_like(tmp_path, text, kernel, *sizes):
    """A verified run of shorter rows by the steps of `text`."""
    schedule = tmp_path / "shared.sched"
    schedule.write_text(SHARED)
    trace, report = run(kernel, *sizes, "--schedule", schedule)
    assert report["verify"]["ok"] and steps(trace) == steps(text), trace
    return report


@pytest.mark.parametrize(
    "kernel, elements, short, launches",
    [
        ("row_sum", 262144, 65536, 2),
        ("softmax", 262147, 16387, 3),
        ("rmsnorm", 262147, 16387, 3),
        *in_sweep(("layernorm", 262144, 65536, 3), ("layernorm", 262147, 16387, 3)),
    ],
)
def test_few_long_rows_run_on_many_blocks(tmp_path, kernel, elements, short, launches):
    """Blocks of threads reduce parts of a row, one combines these, and others use the results."""
    *rows, last = sizes_of(kernel)
    sizes = [f"-D{name}={n}" for name, n in zip(rows, [2, 1], strict=False)]
    long = [*sizes, f"-D{last}={elements}", "--schedule", "default", "--trace"]
    text = emit(PROGRAMS, "--kernel", kernel, *long)
    grids = [int(grid) for grid in re.findall(r"<<<(\d+), \d+>>>", text)]
    assert "// rows: many blocks of threads for each" in text and len(grids) == launches
    assert set(grids[1::2]) == {2} and min(grids[::2]) >= 64
    shared_like(tmp_path, text, kernel, *sizes, f"-D{last}={short}")


@pytest.mark.parametrize(
    "kernel, sizes",
    [("layernorm", ["M=?", "N=1048576"]), ("image_norm", ["N=?", "C=64", "H=128", "W=128"])],
)
def test_very_long_rows_of_symbolic_number_run_on_many_blocks(kernel, sizes):
    text = emit(PROGRAMS, "--kernel", kernel, "--trace", *(f"-D{size}" for size in sizes))
    assert "// rows: many blocks of threads for each" in text and text.count("<<<") == 3


def is_of_one_pass(trace):
    return (
        "// rows: many blocks of threads for each" in trace
        and "recenter(" in trace
        and "reindex_cache_read(mean, x, local," in trace
    )


def test_images_of_any_size_have_one_pass_for_mean_and_variance():
    """By many blocks of threads; those that use both read several elements at a time."""
    symbols = [f"-D{name}=?" for name in "NCHW"]
    given = [f"--size={size}" for size in ("N=2", "C=3", "H=51", "W=53")]
    trace, report = run("image_norm", *symbols, *given)
    assert is_of_one_pass(trace), trace
    assert report["verify"]["ok"] and len(launched(report)) == 3


@pytest.mark.parametrize(
    "sizes", [(1, 5, 5, 7, 11), *in_sweep(((2, 3, 6, 33, 28),), ((3, 1, 4, 8, 9),))]
)
def test_groups_of_any_number_and_width_have_many_blocks(sizes):
    """Elements of groups of C / G channels are known to be different ones."""
    group_norm = ROOT / "examples" / "kernelbench" / "group_norm.tir"
    symbols = [f"-D{name}=?" for name in "NGCHW"]
    given = [f"--size={name}={n}" for name, n in zip("NGCHW", sizes, strict=True)]
    trace, report = run("group_norm", *symbols, *given, program=group_norm)
    assert is_of_one_pass(trace), trace
    assert report["verify"]["ok"] and len(launched(report)) == 3


def launched(report):
    """The numbers of the launches of the version that the sizes choose."""
    return [n for n, launch in enumerate(report["launches"]) if launch["grid"][0] > 0]


@pytest.mark.parametrize(
    "kernel, sizes, first",
    [
        ("softmax", {"M": 5, "N": 1002}, 1),
        ("softmax", {"M": 2, "N": 8191}, 3),
        ("layernorm", {"M": 3, "N": 4}, 0),
        ("half_softmax", {"M": 3, "N": 1004}, 1),
        ("row_sum", {"M": 5, "N": 10004}, 0),
        ("scan", {"M": 3, "N": 9001}, 1),
        ("neighbours", {"M": 37, "N": 134}, 1),
        ("unit_columns", {"N": 2, "C": 64, "W": 131}, 1),
        *in_sweep(
            ("image_norm", {"N": 2, "C": 3, "H": 104, "W": 103}, 3),
            ("softmax", {"M": 5, "N": 1000}, 0),
            ("softmax", {"M": 2, "N": 1028}, 2),
            ("softmax", {"M": 2, "N": 8192}, 2),
            ("softmax", {"M": 2, "N": 8196}, 4),
            ("layernorm", {"M": 3, "N": 4102}, 3),
            ("half_softmax", {"M": 3, "N": 1000}, 0),
            ("row_sum", {"M": 5, "N": 10006}, 1),
            ("scan", {"M": 3, "N": 9000}, 0),
            ("neighbours", {"M": 37, "N": 136}, 0),
            ("unit_columns", {"N": 2, "C": 3, "W": 131}, 0),
            ("unit_columns", {"N": 2, "C": 65, "W": 131}, 2),
            ("image_norm", {"N": 2, "C": 3, "H": 101, "W": 104}, 0),
        ),
    ],
)
def test_versions_for_aligned_and_for_short_rows(kernel, sizes, first):
    """The host chooses one of them by the sizes, and all of them are right."""
    symbols = [f"-D{name}=?" for name in sizes]
    given = [f"--size={name}={n}" for name, n in sizes.items()]
    trace, report = run(kernel, *symbols, *given)
    assert "    // versions: " in trace and report["verify"]["ok"], trace
    assert launched(report)[0] == first, report["launches"]


@pytest.mark.parametrize("kernel", ["scan", "recurrence_of_branches"])
def test_versions_write_each_element_once(kernel):
    """A proof about all sizes, of stores in many pieces."""
    given = [f"--size={name}=37" for name in sizes_of(kernel)]
    symbols = [f"-D{name}=?" for name in sizes_of(kernel)]
    assert run(kernel, *symbols, *given)[1]["verify"]["written"] == "once"


@pytest.mark.parametrize("rows, columns, launch", [(65, 64, 2), *in_sweep((1, 72, 1), (65, 72, 2))])
def test_versions_for_any_number_of_rows_go_to_warpgroups(rows, columns, launch):
    sizes = ["-DM=?", f"-DN={columns}", "-DK=64", f"--size=M={rows}"]
    trace, report = run("bf16_few_rows", *sizes)
    assert trace.count("tensorize(") == trace.count('"wgmma_nn"') == 5, trace
    assert report["verify"]["ok"] and launched(report) == [launch]


def test_joined_symbolic_axes_are_read_16_bytes_at_a_time():
    batch_norm = ROOT / "examples" / "kernelbench" / "batch_norm.tir"
    text = emit(batch_norm, "--kernel", "batch_norm", *(f"-D{name}=?" for name in "NCHW"))
    aligned = text.split("batch_norm(const float")[1].split("extern ")[0]
    assert "*(const float4 *)&x[(" in aligned


@pytest.mark.parametrize("columns, launch", [(71, 2), *in_sweep((72, 1))])
def test_versions_of_any_number_of_columns_go_to_warpgroups(columns, launch):
    options = ["-DM=?", "-DN=?", "-DK=64"]
    trace, report = run("bf16_few_rows", *options, "--size=M=17", f"--size=N={columns}")
    assert trace.count("tensorize(") == trace.count('"wgmma_nn"') == 3, trace
    assert report["verify"]["ok"] and launch in launched(report)
    text = emit(PROGRAMS, "--kernel", "bf16_few_rows", *options)
    assert re.search(r"^// +if N % 8 == 0:$", text, re.M)
    assert re.search(r"^// +if \(M \+ 127\) / 128 \* \(\(N \+ 255\) / 256\) > 99:$", text, re.M)


@pytest.mark.parametrize(
    "sizes, launches",
    [
        ((17, 72, 64), [1]),
        *in_sweep(((1, 1, 1), [2, 3, 4]), ((129, 136, 200), [1]), ((17, 71, 67), [2, 3, 4])),
    ],
)
def test_versions_of_any_sizes_go_to_warpgroups(sizes, launches):
    """The hardware copies boxes of any number of terms, with zeros behind the last one."""
    given = [f"--size={name}={n}" for name, n in zip("MNK", sizes)]
    trace, report = run("bf16_few_rows", "-DM=?", "-DN=?", "-DK=?", *given)
    assert trace.count("tensorize(") == trace.count('"wgmma_nn"') == 3, trace
    assert trace.count("copy_bulk(") == 6, trace
    assert report["verify"]["ok"] and launched(report) == launches


@pytest.mark.parametrize("rows, terms", [
    (64, 67),
    (64, 0),
    *in_sweep(("?", 67), ("?", 72), (64, 72)),
])  # fmt: skip
def test_products_of_any_number_of_terms_go_to_warpgroups(rows, terms):
    given = [f"--size=K={terms}", *(["--size=M=33"] if rows == "?" else [])]
    trace, report = run("bf16_few_rows", f"-DM={rows}", "-DN=72", "-DK=?", *given)
    assert trace.count("tensorize(") == trace.count('"wgmma_nn"') >= 2, trace
    assert report["verify"]["ok"]


def test_kernels_leave_where_the_host_launches_no_such_number_of_terms():
    """ptxas sees no way around the loop of wgmma instructions, and lets them overlap."""
    text = emit(PROGRAMS, "--kernel", "bf16_few_rows", "-DM=?", "-DN=?", "-DK=?")
    assert "// if K % 8 == 0 && N % 8 == 0 && K > 0:" in text
    kernels = text.split('extern "C"')[1:]
    leaves = ["    if (K <= 0)\n        return;  // the host" in kernel for kernel in kernels]
    assert leaves == [True, True, False, False, False]
    assert ["threadIdx.y >= 2" in kernel for kernel in kernels] == [True, False, False, False, True]


def test_results_in_aligned_rows_of_any_length_are_written_16_bytes_at_a_time():
    text = emit(PROGRAMS, "--kernel", "bf16_few_rows", "-DM=?", "-DN=?", "-DK=?")
    kernels = text.split('extern "C"')[1:]
    assert ["*(int4 *)&C[" in kernel or "*(uint4 *)&C[" in kernel for kernel in kernels] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_products_of_fewer_digits_have_versions_for_any_number_of_rows():
    matmul = ROOT / "examples" / "kernelbench" / "matmul.tir"
    options = ["-DM=?", "-DN=5632", "-DK=64", "--trace"]
    assert emit(matmul, *options).count('"wgmma_3xtf32_tt"') >= 2


@pytest.mark.parametrize(
    "sizes, versions, tiles",
    [
        (("H=36", "W=36"), 1, 1),
        ((), 0, 1),  # one image fills the GPU
        (("H=36", "W=36", "O=70"), 0, 0),  # tensor cores have no tile
        *in_sweep((("H=?", "W=?"), 1, 1)),
    ],
)
def test_convolutions_of_any_number_of_images_go_to_tensor_cores(sizes, versions, tiles):
    convolution = ROOT / "examples" / "kernelbench" / "conv_2d.tir"
    trace = emit(convolution, "-DN=?", *(f"-D{each}" for each in sizes), "--trace")
    assert trace.count("specialize(") == versions, trace
    assert trace.count('"wgmma_3xtf32') == tiles, trace
    assert ("    // contraction: " in trace) == (versions > 0 or "O=70" in sizes), trace


@pytest.mark.parametrize(
    "images, launches", [(2, [2]), pytest.param(356, [0, 1], marks=pytest.mark.sweep)]
)
def test_versions_of_convolutions_are_right(images, launches):
    convolution = ROOT / "examples" / "kernelbench" / "conv_2d.tir"
    command = [os.environ["TIRC"], convolution, "-DN=?", "-DH=8", "-DW=8", "-DC=3", "-DO=64"]
    command += [f"--size=N={images}", "--verify", "--device", "sim", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    report = json.loads(done.stdout)
    assert report["verify"]["ok"] and launched(report) == launches, report["launches"]


@pytest.mark.parametrize("width", ["16", *in_sweep("?")])
def test_groups_of_any_size_are_normalized_in_parts(width):
    """Registers hold no parts of rows of symbolic images, so no copy for them is left."""
    norm = ROOT / "examples" / "kernelbench" / "group_norm.tir"
    options = ["-DN=?", "-DC=?", "-DH=?", f"-DW={width}"]
    if width == "?":
        options += [f"--size={size}" for size in ("N=2", "C=16", "H=3", "W=5")]
        assert run("group_norm", *options, program=norm)[1]["verify"]["ok"]
    else:
        emit(norm, *options)


@pytest.mark.parametrize(
    "kernel, sizes",
    [
        ("inner_points", ["-DH=?", "-DW=?"]),
        ("inner_points", ["-DH=61", "-DW=59"]),
        ("planes_by_taps", ["-DH=61", "-DW=59"]),
        *in_sweep(
            ("images_by_taps", ["-DH=?", "-DW=?"]),
            ("planes_by_taps", ["-DH=?", "-DW=?"]),
            ("images_by_taps", ["-DH=61", "-DW=59"]),
        ),
    ],
)
def test_convolutions_of_images_of_any_size_are_copied_in_boxes(kernel, sizes):
    """The hardware writes zeros where an image has no point. Blocks take no turns with a symbolic
    number of tiles."""
    text = emit(PROGRAMS, "--kernel", kernel, "-DN=?", "-DC=256", "-DO=128", *sizes)
    assert text.count("copy_bulk_4d(") >= 2 and "copy_async<" not in text
    assert "<<<132, dim3(128, " not in text


@pytest.mark.parametrize(
    "images, height, width", [(1, 3, 4), *in_sweep((3, 11, 9), (1, 2, 5), (0, 8, 8), (1, 18, 3))]
)
def test_convolutions_of_images_of_any_size_are_right(images, height, width):
    sizes = [f"--size=N={images}", f"--size=H={height}", f"--size=W={width}"]
    report = run("inner_points", "-DN=?", "-DH=?", "-DW=?", "-DC=32", "-DO=64", *sizes)[1]
    assert report["verify"]["ok"]


@pytest.mark.parametrize("columns, most", [(5632, [64, 128, 192, 384]), (8320, [64, 128, 256])])
def test_versions_for_few_rows_fill_the_gpu_once(columns, most):
    """The hardware copies rows of tiles that may be full: it takes long to make rows of zeros."""
    text = emit(PROGRAMS, "--kernel", "bf16_few_rows", "-DM=?", f"-DN={columns}", "-DK=64")
    more = re.search(r"^// +if M > (\d+):$", text, re.M)
    ranges = re.findall(r"^// +if M > \d+ && M < (\d+):", text, re.M)
    assert [int(n) - 1 for n in ranges] + [int(more[1])] == most
    maps = re.findall(r"^bf16_few_rows\w*\(([^)]*)\)", text, re.M)
    assert [each.count("TensorMap") for each in maps] == [2, 1] + [2] * (len(most) - 1)


@pytest.mark.parametrize(
    "columns, turns", [(4096, 128), (8192, 128), (3072, 132), (5120, 0), (14336, 0)]
)
def test_versions_for_many_rows_take_turns(columns, turns):
    """Turns take whole rows of tiles, and the hardware stores results."""
    text = emit(PROGRAMS, "--kernel", "bf16_few_rows", "-DM=?", f"-DN={columns}", "-DK=1024")
    assert (f"<<<{turns}, dim3(128, 3), " in text) == (turns > 0)
    assert ("store_bulk_2d" in text) == (turns > 0)


@pytest.mark.parametrize(
    "rows, columns", [(259, 64), *in_sweep((0, 128), (1, 128), (64, 128), (131, 128), (389, 128))]
)
def test_blocks_take_turns_with_any_number_of_tiles(rows, columns):
    program = ROOT / "examples" / "tensor_cores" / "tensor_cores.tir"
    command = [os.environ["TIRC"], program, "--kernel", "matmul_bf16", "--schedule", "gemm"]
    command += [
        "-DM=?",
        f"-DN={columns}",
        "-DK=128",
        f"--size=M={rows}",
        "--verify",
        "--device",
        "sim",
    ]
    command += [f"--set={each}" for each in ("BM=64", "BN=64", "stages=2", "grid=3")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "<<<(3, 1, 1), (256, 1, 1)>>>" in done.stdout, done


def test_programs_that_start_without_a_loop_have_rows_of_any_length():
    """What stands outside of all loops uses the rows' results, so they have no versions."""
    program = ROOT / "examples" / "kernelbench" / "cross_entropy_loss.tir"
    command = [os.environ["TIRC"], program, "-DM=?", "-DN=?", "--size=M=3", "--size=N=44"]
    command += ["--verify", "--device", "sim"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_versions_hold_short_rows_in_registers():
    """They read them once, 16 bytes at a time, and have no loop of symbolic length."""
    text = emit(PROGRAMS, "--kernel", "softmax", "-DM=?", "-DN=?")
    for kernel in text.split('extern "C"')[1:4:2]:
        loops = re.findall(r"for \(int \w+ = 0; \w+ < (.*); \+\+\w+\)", kernel)
        assert loops and all(n.isdigit() for n in loops), kernel
        assert set(re.findall(r"(.{16})&x\[", kernel)) == {"*(const float4 *)"[-16:]}, kernel


def test_programs_of_many_blocks_have_no_versions():
    program = ROOT / "tests" / "programs" / "registers.tir"
    text = emit(program, "-DM=?", "-DN=?", "--schedule", "default", "--trace")
    assert "// scan: " in text and "// versions: " not in text, text


@pytest.mark.parametrize("kernel", ["scaled_rows", "relu", "column_sum", "nn"])
def test_other_programs_have_no_versions_for_rows(kernel):
    """Data delimit the rows, threads access each element alone, or tiles have versions."""
    symbols = [f"-D{name}=?" for name in sizes_of(kernel)]
    text = emit(PROGRAMS, "--kernel", kernel, "--trace", *symbols)
    assert "// versions: " not in text, text


@pytest.mark.sweep  # those of any size have it, too
def test_large_images_have_one_pass_for_mean_and_variance(tmp_path):
    large, small = [["-DN=2", "-DC=3", f"-DH={side}", f"-DW={side + 2}"] for side in (301, 151)]
    command = ["--kernel", "image_norm", *large, "--schedule", "default", "--trace"]
    text = emit(PROGRAMS, *command)
    assert is_of_one_pass(text), text
    assert len(shared_like(tmp_path, text, "image_norm", *small)["launches"]) == 3


def test_subscripts_of_images_of_any_size_have_no_quotients_by_their_sides():
    text = emit(PROGRAMS, "--kernel", "image_norm", "-DN=?", "-DC=?", "-DH=?", "-DW=?")
    subscripts = re.findall(r"\bx\[([^]]*)\]", text)
    assert len(subscripts) >= 2
    assert not [at for at in subscripts if re.search(r"[/%] [CHW]\b", at)], text


@pytest.mark.parametrize(
    "kernel, sizes",
    [
        ("scan", ["-DM=3", "-DN=8191"]),
        ("half_softmax", ["-DM=3", "-DN=3001"]),
        ("neighbours", ["-DM=?", "-DN=?"]),
        ("row_sum", ["-DM=?", "-DN=?"]),
    ],
)
def test_guards_stand_only_at_edges(kernel, sizes):
    """Some loop of several iterations reads x without a guard, though the sizes divide nothing."""
    text = emit(PROGRAMS, "--kernel", kernel, *sizes)
    loops = re.findall(r"for \(int \w+ = 0; \w+ < (\d+); \+\+\w+\)( \{)?\n((?:.*\n){4})", text)
    reads = [body for n, _, body in loops if int(n) >= 4 and re.search(r"\bx(_\w+)?\[", body)]
    assert any("if (" not in body for body in reads) and "if (" in text, text


@pytest.mark.parametrize("kernel, rows", [("neighbours", [8]), ("neighbours_of_planes", [4, 4])])
def test_threads_compute_neighbours_together(kernel, rows):
    """They share what they read of rows, and of planes where that is more than rows have."""
    given = [f"--size={name}={n}" for name, n in zip(sizes_of(kernel), [9, 5, 41], strict=False)]
    symbols = [f"-D{name}=?" for name in sizes_of(kernel)]
    trace, report = run(kernel, *symbols, *given)
    assert report["verify"]["ok"]
    assert "adjacent rows for each thread" in trace
    found = [int(n) for n in re.findall(r", \[_, (4|8)\]\)", trace)]
    assert found[-len(rows) :] == rows, trace


def test_columns_of_any_length_are_read_before_they_are_used():
    given = [f"--size={name}={n}" for name, n in {"N": 2, "C": 70, "W": 131}.items()]
    trace, report = run("unit_columns", "-DN=?", "-DC=?", "-DW=?", *given)
    assert "columns: blocks of threads reduce 128 together" in trace
    assert "cache_read(y_1, x, local, [y_1])" in trace and report["verify"]["ok"], trace


@pytest.mark.parametrize("kernel, sizes", [("stencil_2d", []), ("stencil_3d", ["-DL=6"])])
@pytest.mark.parametrize("columns, wide", [(40, True), (4, True), (42, False), (41, False)])
def test_neighbours_are_read_and_written_wide(kernel, sizes, columns, wide):
    """Four columns at once; those beside them one by one."""
    program = ROOT / "tests" / "gpu" / "memory" / "programs.tir"
    sizes = [*sizes, "-DN=19", f"-DM={columns}"]
    text = emit(program, "--kernel", kernel, *sizes)
    assert ("*(const float4 *)&x[" in text) == wide and ("*(float4 *)&y[" in text) == wide, text
    command = [os.environ["TIRC"], program, "--kernel", kernel, *sizes]
    done = subprocess.run([*command, "--verify", "--device", "sim", "--werror"], timeout=100)
    assert done.returncode == 0


def test_odd_elements_are_read_before_they_are_used():
    """What divides and calls a function has branches, which loads do not pass."""
    text = emit(PROGRAMS, "--kernel", "swish_between", "-DM=200", "-DN=8191")
    reads = text.split("expf(")[0].split("x_local[4];")[1]
    assert reads.count("#pragma unroll") == 4 and "x_local[each] = x[" in reads


@pytest.mark.parametrize("kernel", ["embedding", "named_row"])
def test_gathered_rows_are_read_where_they_are(kernel):
    """A copy of what a thread may read would hold all rows of the table."""
    trace = run(kernel)[0]
    assert "vectorize(" in trace and "cache_read(" not in trace


@pytest.mark.parametrize("kernel, reads, write", [
    ("mixture", ["float4 x"], "float2"), ("small_products", ["float4 x", "float2 w"], "float2")
])  # fmt: skip
def test_small_rows_are_read_and_written_wide(kernel, reads, write):
    text = emit(PROGRAMS, "--kernel", kernel)
    wide = re.findall(r"\*\(const (float\d) \*\)&(\w)\[", text)
    assert [f"{width} {buffer}" for width, buffer in wide] == reads
    assert re.findall(r"\*\((float\d) \*\)&y\[", text) == [write]


@pytest.mark.parametrize("elements", [1, 23, 64])
def test_counts_of_few_elements(elements):
    program = ROOT / "tests/programs/counts.tir"
    options = ["--schedule", "default", "--verify", "--device", "sim", f"-DN={elements}"]
    assert tirc(program, "--kernel", "counts", *options).returncode == 0
