# frozen_string_literal: true

require_relative "tax"

# The subjects in C, by C library and by number of libraries, mappings and megabytes.
module Skep
  module Benchmarks
    class Fork < Benchmark
      class InC
        TABLE = "C: fork, exit and wait"
        LINKED = "C: libraries linked"
        MAPPED = "C: mappings of a page each"
        RESIDENT = "C: MiB written to"
        STATIC = "glibc static"
        LIBRARIES = [0, 5, 10, 20].freeze
        MAPPINGS = [0, 250, 500, 1000].freeze
        MEGABYTES = [0, 32, 64, 128].freeze
        PAGES = { "4 KiB pages" => false, "huge pages" => true }.freeze
        private_constant :LIBRARIES, :MAPPINGS, :MEGABYTES, :PAGES

        def initialize(tax)
          @tax = tax
        end

        def subjects = table + linked + mapped + resident

        private

        def table
          kinds = [STATIC, "musl static", "dietlibc static", "glibc", "musl"]
          twenty = { kind: "glibc", libraries: 20 }
          [*kinds.map { |kind| of(kind, kind:) },
           of("vfork, glibc, 20 libraries", how: "vfork", **twenty),
           of("posix_spawn, glibc static", how: "posix_spawn", kind: STATIC),
           of("posix_spawn, glibc, 20 libraries", how: "posix_spawn", **twenty)]
        end

        def of(name, kind:, **how)
          Subject.new(name, group: TABLE, against: STATIC) { @tax.measure(kind, **how) }
        end

        def linked
          LIBRARIES.map do |count|
            over(LINKED, "glibc, #{count} libraries", count, "glibc", libraries: count)
          end
        end

        def mapped
          MAPPINGS.map { |count| over(MAPPED, "#{count} mappings", count, mappings: count) }
        end

        def resident
          PAGES.to_a.product(MEGABYTES).map do |(series, huge), megabytes|
            over(RESIDENT, "#{megabytes} MiB, #{series}", megabytes, series:, megabytes:, huge:)
          end
        end

        def over(group, name, x, kind = STATIC, series: nil, **what)
          Subject.new(name, group:, against: STATIC, x:, series:) do
            @tax.measure(kind, **what)
          end
        end
      end
      private_constant :InC
    end
  end
end
