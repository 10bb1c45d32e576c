# frozen_string_literal: true

require "open3"

# The checkout of skep that is measured: this one or another one. An older one may have one lib for
# all gems.
#
#   Checkout.flags                          # => ["-I", ".../skep/lib", …], to load skep
#   Checkout.exe                            # => ".../skep/exe/skep"
#   Checkout.file("benchmark/…/swarm.rb")   # the checkout's own file, else this one's
#   Checkout.use("/path/to/other") { … }    # uses another one in the block
#   Checkout.label("/path/to/other")        # => "@1c03d1c"
#   Checkout.commit                         # => "1c03d1c", or "1c03d1c, changed"
module Skep
  module Benchmarks
    module Checkout
      HERE = File.expand_path("../..", __dir__)
      private_constant :HERE

      class << self
        def path = @path || HERE
        def libraries = files("{lib,skep*/lib}", path)
        def flags = libraries.flat_map { |library| ["-I", library] }
        def exe = files("{skep/,}exe/skep", path).first

        def file(relative)
          [path, HERE].map { |root| File.join(root, relative) }.find { |file| File.exist?(file) }
        end

        def use(path)
          before = @path
          @path = path
          yield
        ensure
          @path = before
        end

        # Returns a sentence with the reason why it can't be measured, or nil.
        def refusal(path)
          return "#{path} is no checkout of skep" if files("{skep/,}exe/skep", path).empty?
          return unless OS.native? && files("{skep/,}lib/skep/skep_ext.*", path).empty?

          "the C part of #{path} isn't built: run `bundle exec rake compile` there"
        end

        # Returns its commit, else its folder's name.
        def label(path) = "@#{git(path, "rev-parse", "--short", "HEAD") || File.basename(path)}"

        # Returns the commit of what is measured here, nil if it is unknown. A copy without its
        # history is told it by SKEP_BENCH_COMMIT.
        def commit
          return ENV.fetch("SKEP_BENCH_COMMIT") if ENV["SKEP_BENCH_COMMIT"]

          known = git(HERE, "rev-parse", "--short", "HEAD") or return
          changes = git(HERE, "status", "--porcelain", "--", *Dir.glob("skep*", base: HERE))
          changes == "" ? known : "#{known}, changed"
        end

        private

        def files(pattern, folder)
          Dir.glob(pattern, base: folder).sort.map { |name| File.join(folder, name) }
        end

        # Returns what git prints, or nil if it fails or isn't there.
        def git(path, *words)
          text, status = Open3.capture2e("git", "-C", path, *words)
          text.strip if status.success?
        rescue Errno::ENOENT
          nil
        end
      end
    end
  end
end
