# frozen_string_literal: true

require "test_helper"
require "tmpdir"

# The files and dependencies of each gem. That they install from their files and work without the
# checkout is shown by test/scenario/the_tutorial_leads_to_a_swarm.rb, and by the installation here.
# .ci/gems also installs what they depend on.
class GemTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  KINDS = %w[lib/ ext/ exe/ sig/ completions/ data/gems man/skep.1 README.md LICENSE].freeze
  # Files that are easily forgotten, and dependencies, of each gem.
  FILES = { "skep" => %w[exe/skep completions/_skep data/gems man/skep.1 ext/skep/extconf.rb
                         ext/skep/cell.h],
            "skep-map" => %w[lib/skep/map.rb],
            "skep-kafka" => %w[lib/skep/plugin/kafka.rb ext/skep_kafka/extconf.rb
                               ext/skep_kafka/cell.h],
            "skep-rails" => %w[lib/active_job/queue_adapters/skep_adapter.rb
                               lib/generators/skep/install/templates/skep.rb.tt],
            "skep-guests" => %w[exe/skep-listen lib/skep/puma.rb lib/skep/sidekiq.rb],
            "skep-web" => %w[lib/skep/plugin/web.rb lib/skep/web/assets/scripts/page.js],
            "skep-reshare" => %w[lib/skep/plugin/reshare.rb ext/skep_reshare/extconf.rb
                                 ext/skep_reshare/got_patch.h] }.freeze
  NEEDS = { "skep" => [], "skep-map" => %w[skep], "skep-kafka" => %w[karafka-rdkafka skep],
            "skep-guests" => %w[skep], "skep-rails" => %w[railties skep skep-kafka],
            "skep-web" => %w[puma rack rack-session skep], "skep-reshare" => %w[skep] }.freeze
  PROGRAMS = { "skep" => %w[skep], "skep-guests" => %w[skep-listen] }.freeze
  VERSION = File.read("#{ROOT}/skep/lib/skep/version.rb")[/"(.+)"/, 1]
  # Prints a map's results, the plugins, and the gems that the parts are loaded from.
  USE = <<~'RUBY'
    %w[rails skep skep/kafka skep/rails skep/web skep/reshare skep/guest].each { |feature| require feature }
    p Skep.map([1, 2], nodes: 0) { |number| number + 1 }
    puts Skep::Plugin.all.keys
    parts = $LOADED_FEATURES.grep(%r{/skep/(?:swarm|kafka|work|web|rails|reshare|guest)\.rb})
    puts parts.map { |path| path[%r{/gems/(skep[a-z-]*)-\d}, 1] }.sort
  RUBY
  private_constant :ROOT, :KINDS, :FILES, :NEEDS, :PROGRAMS, :VERSION, :USE

  FILES.each do |name, needed|
    test "#{name} has all files of its lib and ext" do
      there = Dir.glob("{lib,ext}/**/*", base: "#{ROOT}/#{name}").select do |path|
        File.file?("#{ROOT}/#{name}/#{path}")
      end
      assert_empty there.grep_v(/\.(?:so|md)\z/) - files(name)
      assert_empty needed - files(name)
    end

    test "#{name} has only files that are used at run time, and two texts" do
      assert_empty(files(name).reject { |path| path.start_with?(*KINDS) })
      assert_empty files(name).grep(%r{\.(?:so|o|png)\z|(?:\A|/)(?:test|tmp|vendor)/})
      assert_equal %w[LICENSE README.md], files(name).grep_v(%r{/}).sort
      assert_equal File.read("#{ROOT}/LICENSE"), File.read("#{ROOT}/#{name}/LICENSE")
    end

    test "#{name} has the common version, and bounds what it depends on" do
      dependencies = spec(name).runtime_dependencies
      assert_equal VERSION, spec(name).version.to_s
      assert_equal NEEDS.fetch(name), dependencies.map(&:name).sort
      ours, theirs = dependencies.partition { |one| one.name.start_with?("skep") }
      assert_equal ["= #{VERSION}"], ours.map { |one| one.requirement.to_s }.uniq if ours.any?
      bounds = theirs.map { |one| one.requirement.requirements.map(&:first).sort }
      assert_empty bounds - [%w[< >=]]
      assert_equal PROGRAMS.fetch(name, []), spec(name).executables
    end

    test "#{name} is built without a warning" do
      Dir.mktmpdir do |directory|
        out, err, status = build(name, directory)
        assert_predicate status, :success?, err
        assert_empty "#{out}#{err}".lines.grep(/WARNING/)
      end
    end
  end

  # .ci/gems types both commands in a new machine.
  test "skep check accepts the program of skep-kafka's README, as its commands show" do
    missing "karafka-rdkafka, in the bundle" unless Gem.loaded_specs.key?("karafka-rdkafka")

    readme = File.read("#{ROOT}/skep-kafka/README.md", encoding: "UTF-8")
    Dir.mktmpdir do |directory|
      File.write("#{directory}/swarm.rb", readme[/^```ruby\n(# swarm\.rb\n.*?)^```/m, 1])
      check, run = readme[/^```console\n(.*?)^```/m, 1].scan(/^\$ (.+)/).flatten
      assert_equal "skep check swarm.rb", check
      assert_match(/\Askep kafka broker orders orders\.dead -- skep run swarm\.rb\z/, run)
      out, err, status = run_command({}, RbConfig.ruby, "#{ROOT}/skep/exe/skep", "check",
                                     "#{directory}/swarm.rb", timeout: 30)
      assert_predicate status, :success?, err
      assert_match(/swarm billing, 4 nodes, good to run\n.*topics orders/, out)
    end
  end

  test "every folder with a gemspec is tested here" do
    specs = Dir["#{ROOT}/*/*.gemspec"].map { |path| File.basename(path, ".gemspec") }
    assert_equal FILES.keys.sort, specs.sort
  end

  # Their dependencies are those of this bundle. Their C isn't built: its compilation takes long,
  # and the tutorial's scenario builds it.
  test "all gems install from their files, and their parts load with what they depend on" do
    missing "rails, puma and karafka-rdkafka, in the bundle" unless dependencies?

    Dir.mktmpdir do |directory|
      FILES.each_key { |name| assert_predicate build(name, directory).last, :success? }
      env = { "GEM_HOME" => "#{directory}/gems", "RUBYOPT" => nil, "BUNDLER_SETUP" => nil,
              "GEM_PATH" => ["#{directory}/gems", *Gem.path].join(":"), "CC" => "false" }
      files = FILES.keys.map { |name| "#{directory}/#{name}.gem" }
      out, err, status = run_command(env, "gem", "install", "--local", "--no-document", *files,
                                     timeout: 120)
      assert_predicate status, :success?, out + err
      out, err, status = run_command(env, RbConfig.ruby, "-e", USE, timeout: 60)
      assert_predicate status, :success?, out + err
      assert_equal ["[2, 3]", %w[kafka reshare web], FILES.keys.sort].flatten, out.split("\n")
    end
  end

  private

  def spec(name) = Gem::Specification.load("#{ROOT}/#{name}/#{name}.gemspec")
  def files(name) = spec(name).files

  def build(name, directory)
    command = "cd #{ROOT}/#{name} && gem build #{name}.gemspec --output #{directory}/#{name}.gem"
    run_command({}, "sh", "-c", command, timeout: 30)
  end

  def dependencies?
    (NEEDS.values.flatten - NEEDS.keys).all? { |name| Gem.loaded_specs.key?(name) }
  end
end
