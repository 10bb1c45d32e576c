# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"

# What skep's gems do without the others, and where a new Ruby finds them in a checkout.
class GemsApartTest < Skep::TestCase
  ROOT = File.expand_path("..", __dir__)
  private_constant :ROOT

  test "each method of a map names the gem that it is in, if that isn't there" do
    assert_equal <<~TEXT * 5, run_with(%w[skep], <<~RUBY)
      Skep::Error: Skep.NAME is in the gem skep-map, which isn't there in version VERSION: run `gem install skep-map`, or add `gem "skep-map"` to the Gemfile
    TEXT
      require "skep"
      %i[map each each_with_index flat_map filter_map].each do |name|
        Skep.public_send(name, [1], nodes: 2) { |one| one }
      rescue Skep::Error => e
        puts "\#{e.class}: \#{e.message.sub(name.to_s, "NAME").sub(Skep::VERSION, "VERSION")}"
      end
    RUBY
  end

  test "a map is loaded by itself or with skep, in any order" do
    ["skep/map", "skep", %w[skep/map skep], %w[skep skep/map]].each do |features|
      assert_equal "[2, 3]\n", run_with(%w[skep skep-map], <<~RUBY)
        #{[*features].map { |feature| "require #{feature.inspect}" }.join("\n")}
        p Skep.map([1, 2], nodes: 0) { |one| one + 1 }
      RUBY
    end
  end

  test "a command of another gem names that gem, if it isn't there" do
    assert_equal <<~TEXT, run_with(%w[skep], <<~'RUBY')
      skep: unknown command: kafka: #{installation("kafka")}
      skep: unknown command: web: #{installation("web")}
      skep: unknown command: map: `skep help` lists the commands
      skep: unknown command: webb: `skep help` lists the commands
      [64, 64, 64, 64]
    TEXT
      require "skep/cli"
      codes = [%w[kafka lag], %w[help web], %w[map], %w[webb]].map do |words|
        Skep::CLI.start(words, err: $stdout)
      end
      p codes
    RUBY
  end

  test "a swarm file that uses another gem names that gem, if it isn't there" do
    { 'require "skep/kafka"' => "LoadError while it was loaded, line 1: cannot load such file " \
                                "-- skep/kafka: #{installation("kafka")}",
      'require "skep/sidekiq"' => "LoadError while it was loaded, line 1: cannot load such file " \
                                  "-- skep/sidekiq: #{installation("guests")}",
      "Skep::SolidQueue.new" => "NameError while it was loaded, line 1: uninitialized constant " \
                                "Skep::SolidQueue: #{installation("guests")}",
      "p Skep::Web.new" => "NameError while it was loaded, line 1: uninitialized constant " \
                           "Skep::Web: #{installation("web")}",
      'require "skep/swarm/none"' => "LoadError while it was loaded, line 1: cannot load such " \
                                     "file -- skep/swarm/none" }.each do |line, sentence|
      Dir.mktmpdir do |folder|
        File.write("#{folder}/swarm.rb", line)
        assert_equal "skep: #{folder}/swarm.rb: #{sentence}\n", run_with(%w[skep], <<~RUBY)
          require "skep/cli"
          Skep::CLI.start(["check", #{"#{folder}/swarm.rb".inspect}], err: $stdout)
        RUBY
      end
    end
  end

  test "skep's list of gems has all of this checkout, and their commands" do
    plugins = Dir["#{ROOT}/skep-*"].to_h do |folder|
      name = File.basename(folder).delete_prefix("skep-")
      [name, File.binread(Dir["#{folder}/lib/skep/plugin/*.rb"].first || File::NULL)]
    end
    guests = %w[karafka puma sidekiq solid_queue]
    files = Dir.children("#{ROOT}/skep-guests/lib/skep").grep(/\.rb\z/)
    assert_equal ["guest", *guests].sort, files.map { |file| File.basename(file, ".rb") }.sort
    expected = plugins.sort.map { |name, code| [name, *("command" if code[/^ +def command\b/])] }
    expected.first.concat(guests)
    assert_equal expected, File.readlines("#{ROOT}/skep/data/gems").map(&:split)
  end

  # A mold's Ruby is given skep by -I, and activates no gem by that.
  test "an installed skep doesn't load a gem for another version that is installed, too" do
    Dir.mktmpdir do |folder|
      install(folder, "skep", Skep::VERSION)
      File.symlink("#{ROOT}/skep", "#{folder}/gems/skep-#{Skep::VERSION}")
      install(folder, "skep", "0.0.1", "lib/skep.rb")
      install(folder, "skep-map", "0.0.1", "lib/skep/work.rb")
      out, err, = run_with_gems_of(folder, "#{folder}/gems/skep-#{Skep::VERSION}/lib", <<~RUBY)
        require "skep"
        Skep.map([1]) { |one| one } rescue puts $!.class
        require "skep/work"
      RUBY
      assert_equal "Skep::Error\n", out, err
      assert_match(/Unable to activate skep-map-0\.0\.1, because skep-\S+ conflicts with skep/, err)
    end
  end

  test "an error in a part's file is raised" do
    Dir.mktmpdir do |folder|
      FileUtils.mkdir_p("#{folder}/skep")
      File.write("#{folder}/skep/work.rb", 'require "no/such/library"')
      assert_equal "no/such/library\n", run_with(%w[skep], <<~RUBY)
        $LOAD_PATH << #{folder.inspect}
        begin
          require "skep"
        rescue LoadError => e
          puts e.path
        end
      RUBY
    end
  end

  test "a gem that RubyGems refuses is treated as absent, its plugin with a warning" do
    Dir.mktmpdir do |folder|
      install(folder, "skep-map", "0.0.1", "lib/skep/work.rb")
      install(folder, "skep-mail", "0.0.1", "lib/skep/plugin/mail.rb")
      out, err, = run_with_gems_of(folder, "#{ROOT}/skep/lib", <<~RUBY)
        require "skep"
        Skep.map([1]) { |one| one } rescue puts $!.class
        p Skep::Plugin.all
      RUBY
      assert_equal "Skep::Error\n{}\n", out, err
      assert_match(/\Askep: the gem skep-mail is left out: .*'skep'.*\n\z/, err)
    end
  end

  test "the page names the gem that dead letters need" do
    libraries = $LOAD_PATH.reject { |path| path.to_s.end_with?("/skep-kafka/lib") }
    env = { "RUBYOPT" => nil, "RUBYLIB" => libraries.join(File::PATH_SEPARATOR) }
    out, err, = run_command(env, RbConfig.ruby, "--disable=gems", "-e", <<~RUBY, timeout: 30)
      require "skep/web"
      begin
        Skep::Web.new(dead_letters: { "orders.dead" => {} })
      rescue Skep::Web::MissingGem => e
        puts e.message
      end
    RUBY
    assert_match(/\Adead_letters: needs the gem skep-kafka \(\d\S* or newer\) \(cannot load such/,
                 out, err)
    assert_includes out, "run `gem install skep-kafka`"
  end

  test "a mold and an inspected process load the gems beside skep that are on the load path" do
    assert_equal <<~TEXT, run_with(%w[skep skep-map], <<~RUBY)
      -I skep/lib -I skep-map/lib
      -I skep/lib
    TEXT
      require "skep/library_options"
      $LOAD_PATH << "/srv/app/lib" << "/srv/skep-other/lib"
      show = -> { puts Skep::LibraryOptions.to_a.join(" ").gsub(#{"#{ROOT}/".inspect}, "") }
      show.call
      $LOAD_PATH.reject! { |path| path.end_with?("skep-map/lib") }
      show.call
    RUBY
  end

  private

  def installation(name)
    "it is in the gem skep-#{name}, which isn't there in version #{Skep::VERSION}: run " \
      "`gem install skep-#{name}`, or add `gem \"skep-#{name}\"` to the Gemfile"
  end

  # Puts a gem into the folder, with an empty file, as RubyGems does. All but skep depend on skep in
  # their version.
  def install(folder, name, version, file = nil)
    FileUtils.mkdir_p(["#{folder}/specifications", "#{folder}/gems"])
    File.write("#{folder}/specifications/#{name}-#{version}.gemspec", <<~RUBY)
      # stub: #{name} #{version} ruby lib
      Gem::Specification.new do |spec|
        spec.name, spec.version, spec.require_paths = "#{name}", Gem::Version.new("#{version}"), ["lib"]
        spec.installed_by_version = "3.3.0"
        spec.add_runtime_dependency("skep", "= #{version}") unless spec.name == "skep"
      end
    RUBY
    return unless file

    FileUtils.mkdir_p(File.dirname("#{folder}/gems/#{name}-#{version}/#{file}"))
    FileUtils.touch("#{folder}/gems/#{name}-#{version}/#{file}")
  end

  def run_with_gems_of(folder, library, program)
    env = { "GEM_PATH" => folder, "GEM_HOME" => folder, "RUBYOPT" => nil, "RUBYLIB" => nil }
    run_command(env, RbConfig.ruby, "-I#{library}", "-e", program, timeout: 30)
  end

  # Returns what a Ruby without RubyGems prints, which has these gems only. It must not warn.
  def run_with(gems, program)
    folders = gems.map { |gem| "-I#{ROOT}/#{gem}/lib" }
    command = [RbConfig.ruby, "--disable=gems", "-w", *folders, "-e", program]
    out, err, = run_command({ "RUBYOPT" => nil, "RUBYLIB" => nil }, *command, timeout: 30)
    assert_empty err
    out
  end
end
